// Entry point for the object storage, which is a bucket if the operator has configured one, and otherwise a folder.
import { openFolder } from './folder.ts';
import type { ObjectStorage } from './object-storage.ts';
import { openS3, type S3Settings } from './s3.ts';

export type { ObjectStorage } from './object-storage.ts';

export type StorageSettings = { readonly folder: string } | { readonly s3: S3Settings };

export const openStorage = (settings: StorageSettings): ObjectStorage =>
  's3' in settings ? openS3(settings.s3) : openFolder(settings.folder);
