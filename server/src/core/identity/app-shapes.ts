// Owns the shape of an app and the query of a list of apps, as several features use them (docs/api/apps.md).
import { z } from 'zod';
import { answer, count, id, oneOf, pageQuery, queryFlag, text, timestamp } from '../../kit/http/shapes.ts';
import type { AppRow } from '../auth/proofs.ts';
import type { AppAddresses } from './app-addresses.ts';

export const publicSettings = oneOf(
  'private_with_login',
  'workspace_with_login',
  'public_with_login',
  'public_without_login',
);

/** What the builder chat is doing with the app (docs/api/builder-chat.md#status). */
export const AppStatus = answer('AppStatus', {
  state: oneOf('ready', 'processing', 'error'),
  message: z.string(),
  error_source: oneOf('builder', 'paywall', 'model').nullable(),
});

export const appFields = {
  id,
  name: z.string(),
  slug: z.string(),
  app_type: oneOf('user_app', 'user_agent', 'imported_app'),
  workspace_id: id,
  owner_id: id,
  owner_email: z.string(),
  user_description: z.string(),
  logo_url: z.string().nullable(),
  visibility: oneOf('workspace', 'private'),
  public_settings: publicSettings,
  public_origins: z.array(z.string()),
  hide_authorship: z.boolean(),
  status: AppStatus,
  revision: count,
  published: answer('Published', {
    revision: count,
    url: z.string(),
    published_at: timestamp,
    published_by: z.string(),
  }).nullable(),
  created_date: timestamp,
  updated_date: timestamp,
  deleted_date: timestamp.nullable(),
};

export const App = answer('App', appFields);

const appSorts = ['updated_date', '-updated_date', 'created_date', '-created_date', 'name', '-name'] as const;

/** The query parameters of a list of apps. */
export const appList = {
  ...pageQuery,
  sort: z.enum(appSorts).default('-updated_date'),
  folder_id: z.string().optional(),
  search: text(0, 256).optional(),
  deleted: queryFlag.optional(),
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
