// Tests reading workflows from an archive.
import { expect, it } from 'vitest';
import { createRowReader } from '../../kit/archive/row-reader.ts';
import { newId } from '../../kit/ids.ts';
import { workflowArchiveTables } from './archive-rows.ts';
import { hashDefinition } from './definition/hash.ts';

const now = new Date('2026-05-01T00:00:00Z');
const definition = { do: [] };
const version_id = hashDefinition(definition);
const created_date = '2026-01-01T00:00:00+00:00';
const workflow = {
  id: newId(),
  workspace_id: newId(),
  app_id: newId(),
  name: 'A',
  description: null,
  status: 'active',
  status_reason: null,
  trigger: { config: { trigger_type: 'manual' } },
  trigger_type: 'manual',
  trigger_key: null,
  entity_names: [],
  current_version_id: version_id,
  ticks: 0,
  total_runs: 0,
  consecutive_failures: 0,
  last_run_at: null,
  last_run_status: null,
  created_by: null,
  created_date,
  updated_date: created_date,
};
const version = {
  workspace_id: workflow.workspace_id,
  workflow_id: workflow.id,
  version_id,
  definition,
  change_summary: null,
  created_by: null,
  created_date,
};

/** Returns the checked rows from an archive with these workflows and versions. */
function read(workflows: readonly object[], versions: readonly object[]) {
  const tables = workflowArchiveTables(now);
  const reader = createRowReader(tables, newId());
  const check = (table: string, rows: readonly object[]) =>
    reader.check({ table, file: table, firstLine: 1, rows: rows as never });
  const checked = { workflows: check('workflows', workflows), versions: check('workflow_versions', versions) };
  for (const { end } of Object.values(tables)) end?.();
  return checked;
}

it('accepts a workflow with its current version, and turns it off', () => {
  expect(read([workflow], [version])).toMatchObject({
    workflows: [{ status: 'inactive' }],
    versions: [{ version_id }],
  });
});

it('refuses a workflow without its current version', () => {
  const other = { do: [{}] };
  const earlier = { ...version, definition: other, version_id: hashDefinition(other) };
  expect(() => read([workflow], [earlier])).toThrow('a workflow has no current version');
});

it('refuses a type of trigger that is not that of the trigger', () => {
  expect(() => read([{ ...workflow, trigger_type: 'webhook' }], [version])).toThrow('trigger_type must match');
  expect(() => read([{ ...workflow, trigger: { config: null } }], [version])).toThrow('trigger_type must match');
});

it('dates no version in the future', () => {
  const { versions } = read([workflow], [{ ...version, created_date: '2999-01-01T00:00:00+00:00' }]);
  expect(versions).toMatchObject([{ created_date: now.toISOString() }]);
});

it('accepts the longest condition', () => {
  const trigger = { ...workflow.trigger, condition: '\u{1F600}'.repeat(10_000) };
  expect(read([{ ...workflow, trigger }], [version]).workflows).toHaveLength(1);
});
