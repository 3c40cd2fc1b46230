// The schemas of deployments and security settings (docs/api/publishing.md).
import { z } from 'zod';
import {
  answer,
  body,
  clearable,
  count,
  described,
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
  deployment_id: described(
    optional(unstoredText(0, 2048)),
    'The id of an earlier deployment to make live again. If omitted, the current files are published.',
  ),
});

const warningCodes = [
  'sandboxed_address',
  'file_left_out',
  'secret_not_set',
  'entity_open_to_anonymous',
  'localhost_address',
  'sign_up_closed',
] as const;

/** A likely cause of problems once the app is public. The app is published anyway. */
const PublishWarning = answer('PublishWarning', {
  code: described(oneOf(...warningCodes), 'What the warning is about.'),
  message: described(z.string(), 'What may not work, and what to do about it.', 'Set the secret.'),
  path: described(
    optional(z.string()),
    'The file that the warning is about, if it is about one.',
    'dist/assets/app.js',
  ),
});
export type PublishWarning = z.output<typeof PublishWarning>;

export const Published = answer('Deployed', {
  app_id: described(id, 'The id of the app or agent.', '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e'),
  deployment_id: described(id, 'The id of the deployment that is live now.', '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e'),
  revision: described(count, 'The revision of the app whose files are live now.', 7),
  url: described(z.string(), 'The address of the published app.', 'https://orders.apps.example/'),
  deployed_at: described(timestamp, 'When the deployment last went live.', '2026-11-15T09:30:00.000Z'),
  changes: described(
    answer('DeployedChanges', {
      added: described(count, 'How many files were not live before.', 2),
      changed: described(count, 'How many files have different content.', 1),
      removed: described(count, 'How many files are no longer live.', 0),
    }),
    'How the files differ from those that were live before.',
  ),
  warnings: described(z.array(PublishWarning), 'Problems that may break the app, which is published anyway.'),
});

export const DeploymentQuery = query(pageQuery);

export const Deployment = answer('Deployment', {
  id: described(id, 'The id of the deployment.', '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e'),
  revision: described(count, 'The revision of the app whose files the deployment contains.', 7),
  deployed_at: described(timestamp, 'When the deployment was made.', '2026-11-15T09:30:00.000Z'),
  deployed_by: described(
    z.string(),
    'Who made the deployment: an e-mail address, or the name of a workspace key.',
    'ada@example.com',
  ),
  live: described(z.boolean(), 'Whether visitors see this deployment.'),
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

/** A published file: the id of the object with its content, and the content's hash and size. */
export interface PublishedFile {
  readonly blob: string;
  readonly sha256: string;
  readonly size: number;
}

/** A deployment's files, keyed by their address in the app, such as `assets/app.js`. */
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
  static_code_enabled: described(z.boolean(), 'Whether a security scan reads the code for `static_code_findings`.'),
  headers: described(
    answer('SecurityHeaders', {
      csp: described(
        z.string().nullable(),
        'The header `Content-Security-Policy`; null if it is not sent.',
        "default-src 'self'",
      ),
      hsts: described(
        z.string().nullable(),
        'The header `Strict-Transport-Security`; null if it is not sent.',
        'max-age=31536000',
      ),
      frame_options: described(
        headerSettings.frame_options.nullable(),
        'The header `X-Frame-Options`; null if it is not sent.',
      ),
      content_type_options: described(
        headerSettings.content_type_options.nullable(),
        'The header `X-Content-Type-Options`, which is always sent.',
      ),
      referrer_policy: described(
        z.string().nullable(),
        'The header `Referrer-Policy`; null if it is not sent.',
        'strict-origin-when-cross-origin',
      ),
      permissions_policy: described(
        z.string().nullable(),
        'The header `Permissions-Policy`; null if it is not sent.',
        'camera=(), microphone=()',
      ),
    }),
    'The headers that are sent with published files.',
  ),
});
export type HeaderSettings = z.output<typeof SecuritySettings>['headers'];

/**
 * A row of settings, without the app's id. If `static_code_enabled` is null, the workspace feature
 * `static_code_default` applies.
 */
export type SettingsRow = HeaderSettings & { readonly static_code_enabled: boolean | null };

export const presentSettings = (
  { static_code_enabled, ...headers }: SettingsRow,
  isStaticCodeDefault: boolean,
): z.input<typeof SecuritySettings> => ({
  static_code_enabled: static_code_enabled ?? isStaticCodeDefault,
  headers,
});

export const SecuritySettingsChange = body({
  static_code_enabled: described(
    optional(z.boolean()),
    'Whether a security scan reads the code for `static_code_findings`.',
  ),
  headers: described(
    optional(
      z.object({
        csp: described(
          clearable(headerSettings.csp),
          'The header `Content-Security-Policy`; null stops sending it.',
          "default-src 'self'",
        ),
        hsts: described(
          clearable(headerSettings.hsts),
          'The header `Strict-Transport-Security`; null stops sending it.',
          'max-age=31536000',
        ),
        frame_options: described(
          clearable(headerSettings.frame_options),
          'The header `X-Frame-Options`; null stops sending it.',
        ),
        content_type_options: described(
          clearable(headerSettings.content_type_options),
          'The header `X-Content-Type-Options`, which is always sent.',
        ),
        referrer_policy: described(
          clearable(headerSettings.referrer_policy),
          'The header `Referrer-Policy`; null stops sending it.',
          'strict-origin-when-cross-origin',
        ),
        permissions_policy: described(
          clearable(headerSettings.permissions_policy),
          'The header `Permissions-Policy`; null stops sending it.',
          'camera=(), microphone=()',
        ),
      }),
    ),
    'The headers to change. A header that is set to null is no longer sent.',
  ),
});
export type SecuritySettingsChange = z.output<typeof SecuritySettingsChange>;
