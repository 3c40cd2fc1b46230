// The schemas of previews (docs/api/publishing.md#previews).
import { z } from 'zod';
import {
  answer,
  body,
  count,
  described,
  id,
  integer,
  optional,
  timestamp,
  unstoredText,
} from '../../../kit/http/shapes.ts';

export const NewPreview = body({
  revision: described(
    optional(integer(1, 2 ** 31 - 1)),
    'The revision to show, which must be kept. If omitted, the preview follows the app, and always shows its present revision.',
    7,
  ),
  app_user_id: described(
    optional(unstoredText(0, 2048)),
    'The id of the user of the app as whom the preview is signed in for an hour. If omitted, nobody is signed in.',
    '0198c1f7-b8e1-7f34-9a02-d6c5731e4fb8',
  ),
});
export type NewPreview = z.output<typeof NewPreview>;

const SignedInAs = answer('PreviewUser', {
  app_user_id: described(id, 'The id of the user.', '0198c1f7-b8e1-7f34-9a02-d6c5731e4fb8'),
  email: described(z.string(), 'The e-mail address of the user.', 'grace@example.com'),
  expires_at: described(
    timestamp,
    'When the user is signed out, an hour after the creation.',
    '2026-11-15T10:30:00.000Z',
  ),
});

export const CreatedPreview = answer('Preview', {
  id: described(id, 'The id of the preview.', '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e'),
  url: described(
    z.string().nullable(),
    'The address of the preview. Whoever has it can open the preview. Only the first response contains it.',
    'https://preview--EXAMPLE.apps.example/',
  ),
  revision: described(count, 'The revision that the preview shows, at first if it follows the app.', 7),
  follows: described(z.boolean(), "Whether the preview always shows the app's present revision."),
  signed_in_as: described(
    SignedInAs.nullable(),
    'As whom the preview is signed in. Null if nobody is, and always null if `sandboxed` is true.',
  ),
  sandboxed: described(
    z.boolean(),
    'Whether browsers run the pages in a sandbox, where they reach no data, because the installation has no domain for apps.',
  ),
  expires_at: described(timestamp, 'When the preview ends, a day after its creation.', '2026-11-16T09:30:00.000Z'),
});
