// An app's shape, and the query parameters of app lists, which several features share (docs/api/apps.md).
import { z } from 'zod';
import {
  answer,
  count,
  createdDate,
  described,
  id,
  oneOf,
  pageQuery,
  parameter,
  queryFlag,
  text,
  timestamp,
  updatedDate,
} from '../../kit/http/shapes.ts';
import type { AppRow } from '../auth/proofs.ts';
import type { AppAddresses } from './app-addresses.ts';

export const publicSettings = oneOf(
  'private_with_login',
  'workspace_with_login',
  'public_with_login',
  'public_without_login',
);

/** The builder chat's current work on the app (docs/api/builder-chat.md#status). */
export const AppStatus = answer('AppStatus', {
  state: described(
    oneOf('ready', 'processing', 'error'),
    'The state: `processing` while the assistant is working on the app, `error` if its last turn failed.',
  ),
  message: described(z.string(), 'Why the last turn of the chat failed; empty if it did not fail.', ''),
  error_source: described(
    oneOf('builder', 'paywall', 'model').nullable(),
    'What made the last turn of the chat fail: the assistant, a lack of credits, or the model; null if it did not fail.',
  ),
});

export const appFields = {
  id: described(id, 'The id of the app.', '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e'),
  name: described(z.string(), 'The name of the app; white space at the ends is removed.', 'Order book'),
  slug: described(
    z.string(),
    'A name for URLs, unique in the installation; initially the name and 6 characters.',
    'order-book-9674d3',
  ),
  app_type: described(
    oneOf('user_app', 'user_agent', 'imported_app'),
    "The kind of app, which can't be changed; `user_agent` is an agent.",
  ),
  workspace_id: described(id, 'The workspace that contains the app or agent.', '0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11'),
  owner_id: described(id, 'The id of the member who owns the app or agent.', '0198c1f2-7d2b-7a10-8c3f-41d7e9b2a605'),
  owner_email: described(z.string(), 'The e-mail address of the member who owns the app or agent.', 'ada@example.com'),
  user_description: described(
    z.string(),
    'What the app is for, in the words of its builders; empty by default.',
    'Takes the orders of a bakery',
  ),
  logo_url: described(
    z.string().nullable(),
    'The https URL of the logo; null if there is none.',
    'https://static.example.com/order-book.png',
  ),
  visibility: described(
    oneOf('workspace', 'private'),
    'Who in the workspace sees the app: all members except guests, or only its owner, admins and people with whom it is shared.',
  ),
  public_settings: described(
    publicSettings,
    'Who may use the app; only `public_without_login` allows access to its data without a credential.',
  ),
  public_origins: described(
    z.array(z.string()),
    'The origins whose web pages may access the data of the app, at most 10.',
    ['https://orders.example.com'],
  ),
  hide_authorship: described(z.boolean(), 'Whether records of the app leave out `created_by`.'),
  status: described(AppStatus, 'What the builder chat is doing with the app.'),
  revision: described(count, 'The revision of the app, which increases with each change of files or schemas.', 7),
  published: described(
    answer('Published', {
      revision: described(count, 'The revision of the app that is published.', 7),
      url: described(z.string(), 'The address of the published app.', 'https://orders.apps.example/'),
      published_at: described(timestamp, 'When the revision went live.', '2026-11-15T09:30:00.000Z'),
      published_by: described(
        z.string(),
        'Who published the revision: an e-mail address, or the name of a workspace key.',
        'ada@example.com',
      ),
    }).nullable(),
    'The published revision of the app; null if none is published.',
  ),
  created_date: createdDate,
  updated_date: updatedDate,
  deleted_date: described(
    timestamp.nullable(),
    'When the app was moved to the trash, from which it can be restored for 30 days; null if it is not in the trash.',
    null,
  ),
};

export const App = answer('App', appFields);

const appSorts = ['updated_date', '-updated_date', 'created_date', '-created_date', 'name', '-name'] as const;

/** The query parameters of an app list. */
export const appList = {
  ...pageQuery,
  sort: parameter(z.enum(appSorts).default('-updated_date'), 'The field to sort by; a leading `-` reverses the order.'),
  folder_id: described(z.string().optional(), 'Only apps in this folder.', '0198c1fd-3076-7e89-b5d1-27c0f9a6e84b'),
  search: parameter(text(0, 256).optional(), 'Text that must be part of the name, regardless of case.', 'order'),
  deleted: parameter(queryFlag.optional(), 'Whether to list the contents of the trash instead; false by default.'),
};

export function presentApp(row: AppRow, addresses: AppAddresses): z.input<typeof App> {
  const { live_deployment_id: _, published_revision, published_at, published_by, ...rest } = row;
  const { status_state, status_message, status_error_source, ...app } = rest;
  return {
    ...app,
    status: { state: status_state, message: status_message, error_source: status_error_source },
    published:
      published_revision === null || published_at === null || published_by === null
        ? null
        : {
            revision: published_revision,
            url: addresses.urlOf(app.slug),
            published_at: published_at.toISOString(),
            published_by,
          },
    created_date: app.created_date.toISOString(),
    updated_date: app.updated_date.toISOString(),
    deleted_date: app.deleted_date?.toISOString() ?? null,
  };
}
