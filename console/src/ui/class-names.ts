/** Joins class names, leaving out those whose condition is false. */
export const classNames = (...names: (string | false | undefined)[]): string => names.filter(Boolean).join(' ');
