// The error that rejects an archive. The message tells the importing user what is wrong and where.
export class ArchiveError extends Error {}
