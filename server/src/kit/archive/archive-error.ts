// Owns the error that refuses an archive. Its message is for the person who imports it: what is wrong, and where.
export class ArchiveError extends Error {}
