// The schemas of an app's revisions (docs/api/apps.md#revisions).
import { z } from 'zod';
import { revisionCauses } from '../../../core/identity/revisions.ts';
import {
  answer,
  body,
  count,
  described,
  distinct,
  id,
  integer,
  items,
  list,
  oneOf,
  optional,
  pageQuery,
  query,
  queryInteger,
  text,
  timestamp,
} from '../../../kit/http/shapes.ts';
import type { RevisionRow } from './store.ts';

export const maxRevision = 2 ** 31 - 1;

export const RevisionQuery = query(pageQuery);

export const CompareQuery = query({
  against: described(
    optional(queryInteger(1, maxRevision)),
    'The revision to compare with, older or newer; by default the one before.',
    7,
  ),
});

const sha256 = (text: string, example: string | null) => described(z.string().nullable(), text, example);

const RevisionChange = answer('RevisionChange', {
  path: described(z.string(), 'The path of the file in the app.', 'public/app.js'),
  kind: described(oneOf('added', 'changed', 'removed'), 'What happened to the file.'),
  before_sha256: sha256('The SHA-256 before; null if the file was added.', null),
  after_sha256: sha256(
    'The SHA-256 afterwards; null if the file was removed.',
    '96909e1dce85ca534fd8881f6c8369a8a87e06df5a4bf81ef44a72db195b0704',
  ),
  diff: described(
    z.string().nullable(),
    'The difference in the unified format; null if it is not shown, or the file is not text.',
    '--- a/public/app.js\n+++ b/public/app.js\n@@ -1,1 +1,1 @@\n-1\n+2\n',
  ),
  diff_cut: described(z.boolean(), 'Whether `diff` is incomplete, or missing because it is too long.'),
});
export type RevisionChange = z.output<typeof RevisionChange>;

const document = () => z.record(z.string(), z.unknown()).nullable();
const EntityChange = answer('RevisionEntityChange', {
  name: described(z.string(), 'The name of the entity.', 'Task'),
  before: described(document(), 'The schema before; null if it was added.', null),
  after: described(document(), 'The schema afterwards; null if it was removed.', { name: 'Task' }),
});
export type EntityChange = z.output<typeof EntityChange>;

const HeaderChange = answer('RevisionHeaderChange', {
  before: described(z.record(z.string(), z.string().nullable()), 'The headers before.', { csp: null }),
  after: described(z.record(z.string(), z.string().nullable()), 'The headers afterwards.', {
    csp: "default-src 'self'",
  }),
});
export type HeaderChange = z.output<typeof HeaderChange>;

/** `against` and the fields after it are only in the answer of getRevision. */
export const Revision = answer('Revision', {
  revision: described(count, 'The number of the revision.', 8),
  created_date: described(timestamp, 'When the revision was made.', '2026-11-15T09:30:00.000Z'),
  actor: described(
    z.string().nullable(),
    'Who made it: an e-mail address, or the name of a workspace key; null if not known.',
    'ada@example.com',
  ),
  cause: described(
    oneOf(...revisionCauses),
    'What made the revision. `baseline` is the state in which revisions began to be kept.',
  ),
  message_id: described(id.nullable(), 'The chat message that asked for it, if there is one.', null),
  summary: described(z.string().nullable(), 'The first 200 characters of that message.', 'Add a due date to tasks'),
  restored_revision: described(count.nullable(), 'The revision that was restored, if `cause` is `restore`.', null),
  files: described(
    answer('RevisionFiles', {
      added: described(count, 'How many files were added.', 1),
      changed: described(count, 'How many files were changed.', 1),
      removed: described(count, 'How many files were removed.', 0),
    }),
    'How the files differ from the revision before.',
  ),
  entities: described(z.array(z.string()), 'The entities whose schemas changed.', ['Task']),
  headers: described(z.boolean(), 'Whether the security headers were changed.'),
  live: described(z.boolean(), 'Whether the files of this revision are published.'),
  kept: described(z.boolean(), 'Whether the contents are kept; false if the storage quota was full.'),
  against: described(
    optional(count.nullable()),
    'The revision that is compared with; null if it is not kept. Only in `getRevision`, like what follows.',
    7,
  ),
  changes: described(optional(z.array(RevisionChange)), 'The files that differ, ordered by path.'),
  entity_changes: described(optional(z.array(EntityChange)), 'The schemas that differ, ordered by name.'),
  header_changes: described(optional(HeaderChange.nullable()), 'The security headers, if they differ.'),
});

export const RevisionList = items(Revision).extend({
  kept_from: described(count, 'The oldest revision whose contents are kept.', 1),
});

export const presentRevision = (row: RevisionRow, live: number | null): z.input<typeof Revision> => ({
  revision: row.revision,
  created_date: row.created_date.toISOString(),
  actor: row.actor,
  cause: row.cause,
  message_id: row.message_id,
  summary: row.summary,
  restored_revision: row.restored_revision,
  files: { added: row.files_added, changed: row.files_changed, removed: row.files_removed },
  entities: row.entities,
  headers: row.headers_changed,
  live: row.revision === live,
  kept: row.is_kept,
});

// ---- restoring

export const restoredParts = ['files', 'entities', 'headers'] as const;
/** What no revision contains. */
export const leftOut = ['records', 'secrets', 'users', 'settings'] as const;

const heldOperations = ['create', 'read', 'update', 'delete', 'update_check', 'fields'] as const;
const operationText = 'The operation; `fields` stands for the rules of the fields.';

export const RestoreInput = body({
  parts: described(
    optional(distinct(list(oneOf(...restoredParts), 1, restoredParts.length), (part) => part)),
    'What to restore: everything unless it is named.',
    ['files'],
  ),
  dry_run: described(optional(z.boolean()), 'Whether only to say what would change; false by default.'),
  expected_revision: described(
    optional(integer(1, maxRevision)),
    'The revision of the app that you last read. If it is no longer the current one, the request fails with 409.',
    9,
  ),
  opens: described(
    optional(
      list(
        z.object({
          entity: described(text(1, 64), 'The name of the entity.', 'Task'),
          operation: described(oneOf(...heldOperations), operationText, 'read'),
        }),
        0,
        600,
      ),
    ),
    'What you agree to open: the entities and operations of `impact.newly_open` of a dry run. Otherwise, the request fails with 409.',
    [{ entity: 'Task', operation: 'read' }],
  ),
});
export type RestoreInput = z.output<typeof RestoreInput>;

const names = (what: string, example: readonly string[]) => described(z.array(z.string()), what, example);

const NewlyOpened = answer('RevisionNewlyOpened', {
  entity: described(z.string(), 'The name of the entity.', 'Task'),
  operation: described(oneOf(...heldOperations), operationText, 'read'),
  principal: described(
    oneOf('anonymous', 'any_user', 'creator', 'some_user').nullable(),
    'Whom the rule lets in; null if undecided.',
    'anonymous',
  ),
  before: described(z.unknown(), 'The rule in effect; null if there is none.', false),
  after: described(z.unknown(), 'The rule of the restored revision; null if it had none.', true),
  example: described(z.record(z.string(), z.unknown()).nullable(), 'A record that the rule opens.', { record: {} }),
});

export const Restored = answer('RevisionRestored', {
  revision: described(count, 'The new revision of the app, or the current one if nothing was changed.', 10),
  restored_revision: described(count, 'The revision that was restored.', 4),
  changes: described(
    answer('RevisionRestoredChanges', {
      files: described(
        answer('RevisionRestoredFiles', {
          created: names('The files that did not exist before.', ['public/old.js']),
          updated: names('The files whose content changed.', ['public/app.js']),
          deleted: names('The files that the restored revision did not have.', ['public/new.js']),
        }),
        'The paths of the files that differ.',
      ),
      entities: described(
        answer('RevisionRestoredEntities', {
          created: names('The entities that did not exist before.', []),
          updated: names('The entities whose schemas changed.', ['Task']),
          deleted: names('The entities that the restored revision did not have.', []),
        }),
        'The entities whose schemas differ.',
      ),
      headers: described(z.boolean(), 'Whether the security headers differ.'),
    }),
    'What was changed, or would be.',
  ),
  impact: described(
    answer('RevisionImpact', {
      newly_open: described(z.array(NewlyOpened), 'What the restored rules let callers do that was refused before.'),
      kept_entities: names(
        'The entities that the restored revision did not have and that stay, because they have records or are used by an automation, a workflow or a conversion mapping.',
        ['Note'],
      ),
    }),
    'What to know before restoring.',
  ),
  left_out: described(z.array(oneOf(...leftOut)), 'What is not part of a revision and stays as it is.', [...leftOut]),
});
