// Describes how flows are stored in an archive.
import { type ArchiveTable, counter, owner, refersTo, time, unsharedRowId } from '../../kit/archive/columns.ts';
import { name, oneOf, text } from '../../kit/http/shapes.ts';
import { maxFlows, roles } from './contract.ts';

export const browserTestArchiveTables: Readonly<Record<string, ArchiveTable>> = {
  test_flows: {
    columns: {
      id: unsharedRowId,
      workspace_id: owner,
      app_id: refersTo('apps'),
      name: name(1, 200),
      goal: text(1, 4_000),
      role: oneOf(...roles).nullable(),
      revision: counter,
      created_by: text(0, 320),
      created_date: time,
      updated_date: time,
    },
    atMost: { per: 'app_id', rows: maxFlows },
  },
};
