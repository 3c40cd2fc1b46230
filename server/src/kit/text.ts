// Owns which texts the database can keep: well-formed ones, without the zero byte that PostgreSQL refuses.

export const isKeepable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** The same text without what cannot be kept. */
export const keepable = (text: string): string => text.replaceAll('\0', '').toWellFormed();
