// Owns the description of workflows and their versions in an archive. Imported workflows are inactive, and the addresses of hooks
// are new: an archive must not start anything by itself. Turning a workflow on checks its definition again (draft.ts).
import { z } from 'zod';
import { ArchiveError } from '../../kit/archive/archive-error.ts';
import { type ArchiveTable, counter, mayReferTo, newRowId, owner, refersTo, time } from '../../kit/archive/columns.ts';
import type { Row } from '../../kit/archive/read-archive.ts';
import { freeObject, list, oneOf, pattern, text } from '../../kit/http/shapes.ts';
import { statuses, statusReasons, triggerTypes } from './contract.ts';
import { hashDefinition } from './definition/hash.ts';
import { maxArchived, maxVersions, maxWorkflows } from './workflow.ts';

const versionId = pattern(/^[0-9a-f]{64}$/, 64);
const maxDefinitionBytes = 256 * 1024; // of 128 KiB, with every character escaped

export const workflowArchiveTables: Readonly<Record<string, ArchiveTable>> = {
  workflows: {
    columns: {
      id: newRowId,
      workspace_id: owner,
      app_id: refersTo('apps'),
      name: text(1, 100),
      description: text(0, 2_000).nullable(),
      status: oneOf(...statuses),
      status_reason: oneOf(...statusReasons).nullable(),
      trigger: freeObject(32 * 1024),
      trigger_type: oneOf(...triggerTypes),
      trigger_key: text(0, 1_000).nullable(),
      entity_names: list(text(1, 64), 0, 1_000),
      current_version_id: versionId,
      ticks: counter,
      total_runs: counter,
      consecutive_failures: counter,
      last_run_at: time.nullable(),
      last_run_status: oneOf('completed', 'failed', 'cancelled').nullable(),
      created_by: mayReferTo('people'),
      created_date: time,
      updated_date: time,
    },
    atMost: { per: 'app_id', rows: maxWorkflows + maxArchived },
    complete: turnOff,
  },
  workflow_versions: {
    columns: {
      workspace_id: owner,
      workflow_id: refersTo('workflows'),
      version_id: versionId,
      definition: z.record(z.string(), z.unknown()),
      change_summary: text(0, 500).nullable(),
      created_by: mayReferTo('people'),
      created_date: time,
    },
    // Runs that go on keep further versions.
    atMost: { per: 'workflow_id', rows: 10 * maxVersions },
    complete: checkVersion,
  },
};

/** The agent of a trigger has another id now, so that it must be chosen again. */
function turnOff(row: Row): Row {
  const isActive = row.status === 'active';
  return {
    ...row,
    ...(isActive && { status: 'inactive', status_reason: null }),
    trigger_key: row.trigger_type === 'agent_message' ? null : row.trigger_key,
  };
}

function checkVersion(row: Row): Row {
  const definition = JSON.stringify(row.definition);
  if (Buffer.byteLength(definition) > maxDefinitionBytes) throw new ArchiveError('definition is too large');
  if (hashDefinition(row.definition) !== row.version_id)
    throw new ArchiveError('version_id must be the hash of the definition');
  return row;
}
