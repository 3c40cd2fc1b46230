// The archive format for connections. Tokens, API keys and pending attempts are not exported, so an imported
// connection remains disconnected until a user reconnects it.
import { z } from 'zod';
import { ArchiveError } from '../../kit/archive/archive-error.ts';
import { type ArchiveTable, mayReferTo, owner, refersTo, time, unsharedRowId } from '../../kit/archive/columns.ts';
import type { Row } from '../../kit/archive/read-archive.ts';
import { list, oneOf, text } from '../../kit/http/shapes.ts';
import { catalogue, findConnector } from './catalogue.ts';

/** A service may grant more scopes than were requested. */
const maxGranted = 500;

export const connectorArchiveTables: Readonly<Record<string, ArchiveTable>> = {
  connections: {
    columns: {
      workspace_id: owner,
      id: unsharedRowId,
      app_id: refersTo('apps'),
      integration_type: text(1, 64).refine((type) => findConnector(type)?.integration_type === type, {
        error: 'must be a connector in the catalogue',
      }),
      status: oneOf('pending', 'active', 'expired', 'disconnected'),
      user_id: mayReferTo('people'),
      scopes: list(text(1, 200), 0, maxGranted),
      connection_config: z.record(z.string(), z.string()),
      connected_at: time.nullable(),
      created_date: time,
      updated_date: time,
    },
    atMost: { per: 'app_id', rows: catalogue.length },
    complete: checkConnection,
  },
};

function checkConnection(row: Row): Row {
  const sent = row.connection_config as Record<string, string>;
  const fields = findConnector(String(row.integration_type))?.connection_config_fields ?? [];
  for (const [name, value] of Object.entries(sent)) {
    const field = fields.find((each) => each.name === name);
    const isValid = field !== undefined && value.length <= 200 && new RegExp(field.validation_pattern).test(value);
    if (!isValid) throw new ArchiveError('connection_config contains a value that the connector does not accept');
  }
  return { ...row, status: row.connected_at === null ? 'pending' : 'disconnected' };
}
