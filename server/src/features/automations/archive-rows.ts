// Defines how automations are stored in an archive. Imported automations stay off until a user turns them on. Secrets
// are not exported, so headers contain only their names.
import { z } from 'zod';
import { ArchiveError } from '../../kit/archive/archive-error.ts';
import {
  type ArchiveTable,
  counter,
  type IdColumn,
  mayReferTo,
  owner,
  refersTo,
  time,
  unsharedRowId,
  uuid,
} from '../../kit/archive/columns.ts';
import type { Row } from '../../kit/archive/read-archive.ts';
import { list, name, oneOf, text } from '../../kit/http/shapes.ts';
import { Schedule } from '../../kit/schedule/index.ts';
import { maxAutomations } from './automation.ts';
import { Action, automationTypes, eventTypes } from './contract.ts';

/**
 * If the workflow was not exported, its id is replaced with an id that doesn't exist, and runs fail for that reason.
 */
const workflow: IdColumn = {
  value: uuid.nullable(),
  id: { becomes: 'reference', tables: ['workflows'], ifMissing: 'replace' },
};

export const automationArchiveTables: Readonly<Record<string, ArchiveTable>> = {
  automations: {
    columns: {
      workspace_id: owner,
      id: unsharedRowId,
      app_id: refersTo('apps'),
      name: name(1, 100),
      description: text(0, 500).nullable(),
      type: oneOf(...automationTypes),
      entity_name: text(1, 64).nullable(),
      event_types: list(oneOf(...eventTypes), 1, eventTypes.length).nullable(),
      condition: text(1, 4_000).nullable(),
      schedule: Schedule.nullable(),
      action: z.record(z.string(), z.unknown()),
      workflow_id: workflow,
      is_active: z.boolean(),
      last_run_at: time.nullable(),
      last_error: text(0, 1_000).nullable(),
      consecutive_failures: counter,
      created_by: mayReferTo('people'),
      created_date: time,
      updated_date: time,
    },
    atMost: { per: 'app_id', rows: maxAutomations },
    complete: checkAutomation,
  },
};

function checkAutomation(row: Row): Row {
  const isOfEntity = row.type === 'entity';
  for (const field of ['entity_name', 'event_types'])
    if ((row[field] !== null) !== isOfEntity) throw new ArchiveError(`${field} must match the type`);
  if ((row.schedule === null) !== isOfEntity) throw new ArchiveError('schedule must match the type');
  const { workflow_id } = row;
  const action = { ...(row.action as object), ...(workflow_id !== null && { workflow_id }) };
  if (!Action.safeParse(action).success) throw new ArchiveError('action must be one that the API accepts');
  return { ...row, is_active: false };
}
