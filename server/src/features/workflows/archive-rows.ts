// How workflows and their versions are stored in an archive. Imported workflows are inactive and hooks get new
// addresses, because an import must not start anything by itself. Turning a workflow on checks its definition again
// (draft.ts).
import { z } from 'zod';
import { ArchiveError } from '../../kit/archive/archive-error.ts';
import { type ArchiveTable, counter, mayReferTo, newRowId, owner, refersTo, time } from '../../kit/archive/columns.ts';
import type { Row } from '../../kit/archive/read-archive.ts';
import { freeObject, list, oneOf, pattern, text } from '../../kit/http/shapes.ts';
import { statuses, statusReasons, triggerTypes } from './contract.ts';
import { hashDefinition } from './definition/hash.ts';
import { maxArchived, maxStoredVersions, maxWorkflows } from './workflow.ts';

const versionId = pattern(/^[0-9a-f]{64}$/, 64);
const maxDefinitionBytes = 256 * 1024; // the limit is 128 KiB, and every character may be escaped
const maxTriggerBytes = 128 * 1024; // a condition has up to 10,000 characters, all of which may be escaped

/** Creates the tables for one import. They check that every workflow's current version is present. */
export function workflowArchiveTables(now = new Date()): Readonly<Record<string, ArchiveTable>> {
  const missing = new Map<unknown, unknown>(); // each workflow's current version, until it has been read
  return {
    workflows: {
      columns: {
        id: newRowId,
        workspace_id: owner,
        app_id: refersTo('apps'),
        name: text(1, 100),
        description: text(0, 2_000).nullable(),
        status: oneOf(...statuses),
        status_reason: oneOf(...statusReasons).nullable(),
        trigger: freeObject(maxTriggerBytes),
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
      complete: (row) => {
        checkTrigger(row);
        missing.set(row.id, row.current_version_id);
        return turnOff(row);
      },
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
      atMost: { per: 'workflow_id', rows: maxStoredVersions },
      complete: (row) => {
        checkVersion(row);
        if (missing.get(row.workflow_id) === row.version_id) missing.delete(row.workflow_id);
        return { ...row, created_date: capTime(row.created_date, now) };
      },
      end: () => {
        if (missing.size > 0) throw new ArchiveError('a workflow has no current version');
      },
    },
  };
}

/** The trigger's agent has a new id after the import, so a user must choose the agent again. */
function turnOff(row: Row): Row {
  const isActive = row.status === 'active';
  return {
    ...row,
    ...(isActive && { status: 'inactive', status_reason: null }),
    trigger_key: row.trigger_type === 'agent_message' ? null : row.trigger_key,
  };
}

/** Events are compared with the column `trigger_type`, so it must match the trigger. */
function checkTrigger({ trigger, trigger_type }: Row): void {
  const { config } = trigger as { readonly config?: { readonly trigger_type?: unknown } | null };
  if (config?.trigger_type !== trigger_type) throw new ArchiveError('trigger_type must match the trigger');
}

/** Versions are ordered by time, so a version dated in the future would remain the newest. */
const capTime = (time: unknown, now: Date): unknown => (new Date(String(time)) > now ? now.toISOString() : time);

function checkVersion(row: Row): void {
  const definition = JSON.stringify(row.definition);
  if (Buffer.byteLength(definition) > maxDefinitionBytes) throw new ArchiveError('definition is too large');
  if (hashDefinition(row.definition) !== row.version_id)
    throw new ArchiveError("version_id must match the definition's hash");
}
