// The settings for the object storage, which is a folder or a bucket.
import { type Environment, flag, oneOf, optional, setting, text, url } from './setting.ts';

export const storageSettings = {
  STORAGE_FOLDER: setting(
    'Folder for files, such as the archives of exports. Must be shared by all API and worker processes. Not used with `STORAGE_S3_BUCKET`.',
    '.data',
    text,
  ),
  STORAGE_S3_BUCKET: optional(
    'Bucket for files, on any server with the S3 protocol, instead of `STORAGE_FOLDER`. Needs `STORAGE_S3_ACCESS_KEY_ID` and `STORAGE_S3_SECRET_ACCESS_KEY`: docs/operate/configure.md#object-storage.',
    text,
  ),
  STORAGE_S3_ENDPOINT: optional(
    "URL of the S3 server, such as `https://s3.example.com`. If unset, Amazon's own for `STORAGE_S3_REGION`.",
    url('http:', 'https:'),
  ),
  STORAGE_S3_REGION: setting('Region of the bucket. Many servers accept any.', 'us-east-1', text),
  STORAGE_S3_ACCESS_KEY_ID: optional('Access key id for the bucket.', text),
  STORAGE_S3_SECRET_ACCESS_KEY: optional('Secret access key for the bucket.', text),
  STORAGE_S3_CHECKSUMS: setting(
    "Which requests carry a checksum beside the signature: `when_required` or `when_supported`. Servers other than Amazon's may refuse the latter.",
    'when_required',
    oneOf(['when_required', 'when_supported']),
  ),
  STORAGE_S3_PATH_STYLE: setting(
    'If `true`, the bucket is part of the path (`https://s3.example.com/bucket`) instead of the host name. Most servers that you run yourself need it.',
    'false',
    flag,
  ),
};

/** Files are stored either in a bucket or in a folder. Settings that are ambiguous or have no effect are rejected. */
export function listStorageFaults(environment: Environment): string[] {
  const isSet = (name: string) => Boolean(environment[name]);
  if (isSet('STORAGE_S3_BUCKET')) {
    const missing = (['STORAGE_S3_ACCESS_KEY_ID', 'STORAGE_S3_SECRET_ACCESS_KEY'] as const).filter(
      (name) => !isSet(name),
    );
    return [
      ...missing.map((name) => `${name} is missing: STORAGE_S3_BUCKET needs it.`),
      ...(isSet('STORAGE_FOLDER')
        ? [
            'STORAGE_FOLDER and STORAGE_S3_BUCKET are both set, but files are kept in only one place. Remove one of the settings.',
          ]
        : []),
    ];
  }
  return Object.keys(storageSettings)
    .filter((name) => name.startsWith('STORAGE_S3_') && isSet(name))
    .map((name) => `${name} has no effect without STORAGE_S3_BUCKET. Set the bucket, or remove this setting.`);
}
