// Whom a rule lets do what, in words.
const people = {
  anonymous: 'everybody, even without signing in,',
  any_user: 'everybody who has an account in the app',
  creator: 'whoever created a record',
  some_user: 'certain users',
} as const;

const actions = {
  create: 'add records of',
  read: 'read',
  update: 'change',
  delete: 'delete',
  update_check: 'change, in ways that were refused before,',
} as const;

interface Opening {
  readonly entity: string | null;
  readonly operation: keyof typeof actions | 'fields';
  readonly principal: keyof typeof people | null;
}

/** Example: "everybody who has an account in the app read “Task”". */
export function describeOpening({ entity, operation, principal }: Opening): string {
  const who = principal === null ? 'people who could not be told apart' : people[principal];
  if (operation === 'fields') return `${who} see other fields of “${entity}”`;
  return `${who} ${actions[operation]} “${entity}”`;
}
