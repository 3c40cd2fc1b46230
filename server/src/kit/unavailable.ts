// The error for object storage that is currently unusable, because it can't be reached, denies access, or is full.
// `kit/http/response/errors.ts` turns it into a 503.

export class StorageUnavailable extends Error {
  constructor(cause: unknown) {
    super(`object storage unavailable: ${describeCause(cause)}`, { cause });
    this.name = 'StorageUnavailable';
  }
}

/** Connection errors may only have a code. Provider errors have a name and a message. */
function describeCause(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const { code } = cause as { code?: unknown };
  return [typeof code === 'string' ? code : cause.name, cause.message].filter(Boolean).join(': ');
}
