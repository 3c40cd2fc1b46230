// Owns the schemas of deployments and security settings (docs/api/publishing.md).
import { z } from 'zod';
import {
  answer,
  body,
  clearable,
  count,
  id,
  oneOf,
  optional,
  pageQuery,
  pattern,
  query,
  timestamp,
  unstoredText,
} from '../../kit/http/shapes.ts';

export const NewDeployment = body({
  deployment_id: optional(unstoredText(0, 2048)).meta({
    description: 'An earlier deployment, to make it live again. Without it, the current files are published.',
  }),
});

const warningCodes = [
  'sandboxed_address',
  'file_left_out',
  'secret_not_set',
  'entity_open_to_anonymous',
  'localhost_address',
] as const;

/** Something that often breaks an app once it is public. It is published anyway. */
const PublishWarning = answer('PublishWarning', {
  code: oneOf(...warningCodes),
  message: z.string(),
  path: optional(z.string()),
});
export type PublishWarning = z.output<typeof PublishWarning>;

export const Published = answer('Deployed', {
  app_id: id,
  deployment_id: id,
  revision: count,
  url: z.string(),
  deployed_at: timestamp,
  changes: answer('DeployedChanges', { added: count, changed: count, removed: count }),
  warnings: z.array(PublishWarning),
});

export const DeploymentQuery = query(pageQuery);

export const Deployment = answer('Deployment', {
  id,
  revision: count,
  deployed_at: timestamp,
  deployed_by: z.string(),
  live: z.boolean(),
});

export interface DeploymentRow {
  readonly id: string;
  readonly revision: number;
  readonly created_date: Date;
  readonly created_by: string;
}

export const presentDeployment = (row: DeploymentRow, liveId: string | null): z.input<typeof Deployment> => ({
  id: row.id,
  revision: row.revision,
  deployed_at: row.created_date.toISOString(),
  deployed_by: row.created_by,
  live: row.id === liveId,
});

/** A published file: the object that has its content, and the content's hash and size. */
export interface PublishedFile {
  readonly blob: string;
  readonly sha256: string;
  readonly size: number;
}

/** The files of a deployment, by their address in the app: `assets/app.js`. */
export type Manifest = Readonly<Record<string, PublishedFile>>;

const headerText = (max: number) => pattern(/^[!-~](?:[ -~]*[!-~])?$/, max);

export const headerSettings = {
  csp: headerText(8192),
  hsts: headerText(256),
  frame_options: oneOf('DENY', 'SAMEORIGIN'),
  content_type_options: oneOf('nosniff'),
  referrer_policy: headerText(256),
  permissions_policy: headerText(4096),
};

export const SecuritySettings = answer('SecuritySettings', {
  static_code_enabled: z.boolean(),
  headers: answer('SecurityHeaders', {
    csp: z.string().nullable(),
    hsts: z.string().nullable(),
    frame_options: headerSettings.frame_options.nullable(),
    content_type_options: headerSettings.content_type_options.nullable(),
    referrer_policy: z.string().nullable(),
    permissions_policy: z.string().nullable(),
  }),
});
export type HeaderSettings = z.output<typeof SecuritySettings>['headers'];

/** A row of settings, without its app. Null: as the workspace's feature `static_code_default` says. */
export type SettingsRow = HeaderSettings & { readonly static_code_enabled: boolean | null };

export const presentSettings = (
  { static_code_enabled, ...headers }: SettingsRow,
  isStaticCodeDefault: boolean,
): z.input<typeof SecuritySettings> => ({
  static_code_enabled: static_code_enabled ?? isStaticCodeDefault,
  headers,
});

export const SecuritySettingsChange = body({
  static_code_enabled: optional(z.boolean()),
  headers: optional(
    z.object({
      csp: clearable(headerSettings.csp),
      hsts: clearable(headerSettings.hsts),
      frame_options: clearable(headerSettings.frame_options),
      content_type_options: clearable(headerSettings.content_type_options),
      referrer_policy: clearable(headerSettings.referrer_policy),
      permissions_policy: clearable(headerSettings.permissions_policy),
    }),
  ),
});
export type SecuritySettingsChange = z.output<typeof SecuritySettingsChange>;
