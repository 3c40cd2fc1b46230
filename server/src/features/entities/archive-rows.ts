// The archive format for entity schemas and records. Schemas and their rules are validated as when they are saved.
// Records are not validated against their schema, which may have changed since they were written. They only have to
// contain values that some schema could accept.
import { z } from 'zod';
import { ArchiveError } from '../../kit/archive/archive-error.ts';
import { type ArchiveTable, counter, type IdColumn, refersTo, time, uuid } from '../../kit/archive/columns.ts';
import type { Row } from '../../kit/archive/read-archive.ts';
import { openObject, pattern, text } from '../../kit/http/shapes.ts';
import { maxRecordBytes } from './records/change.ts';
import { entityName, parseSchema } from './schemas/document.ts';
import { deriveKeys } from './schemas/keys.ts';
import { maxEntities } from './schemas/schema.ts';
import { newValidation, validateUntyped } from './schemas/values.ts';

/** A record's creator: a person, an app user, or `anonymous`. The person or user may since have been deleted. */
const creator: IdColumn = {
  value: z.union([uuid, z.literal('anonymous')]),
  id: { becomes: 'reference', tables: ['people', 'app_users'], ifMissing: 'replace' },
};

export const entityArchiveTables: Readonly<Record<string, ArchiveTable>> = {
  entity_schemas: {
    columns: {
      app_id: refersTo('apps'),
      name: pattern(entityName, 64),
      document: openObject,
      revision: counter,
      created_date: time,
      updated_date: time,
    },
    atMost: { per: 'app_id', rows: maxEntities },
    complete: checkSchema,
  },
  entity_records: {
    columns: {
      app_id: refersTo('apps'),
      id: uuid, // kept, because other records' fields may refer to it
      entity_name: pattern(entityName, 64),
      data: openObject,
      created_by: text(0, 254),
      created_by_id: creator,
      created_date: time,
      updated_date: time,
      is_sample: z.boolean(),
      deleted_date: time.nullable(),
      version: counter,
    },
    complete: checkRecord,
  },
};

/** Adds the schema's key names, from which its records' keys are built after the import. */
function checkSchema(row: Row): Row {
  const parsed = parseSchema(row.document, [], 'new');
  if ('faults' in parsed) {
    const [fault] = parsed.faults;
    throw new ArchiveError(`document${fault?.loc.map((part) => `.${part}`).join('')} ${fault?.msg}`);
  }
  const { schema } = parsed;
  if (schema.name !== row.name) throw new ArchiveError('the document has a different name');
  return { ...row, keys: deriveKeys(schema, Number(row.revision), []).map((key) => key.name) };
}

function checkRecord(row: Row): Row {
  const validation = newValidation();
  validateUntyped(row.data, ['data'], validation, 0);
  const [fault] = validation.faults;
  if (fault !== undefined) throw new ArchiveError(`${fault.loc.join('.')} ${fault.msg}`);
  const size_bytes = Buffer.byteLength(JSON.stringify(row.data));
  if (size_bytes > maxRecordBytes) throw new ArchiveError(`data must be at most ${maxRecordBytes} bytes as JSON`);
  return { ...row, size_bytes };
}
