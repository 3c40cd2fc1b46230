// The name of a new app, from what a person wants to build.
const openings =
  /^(?:(?:please\s+)?(?:i(?:'d)?\s+(?:want|need|would like|like)(?:\s+to\s+(?:build|have|make))?|we\s+(?:want|need)|build|make|create|give)(?:\s+(?:me|us))?\s+)?(?:an?\s+|the\s+)?/i;
const maxLength = 48;

/** Example: "I need a task list with owners, and due dates" is "Task list with owners". */
export function nameApp(wish: string): string {
  const [sentence = ''] = wish.trim().split(/[\n.!?,;:]/);
  const bare = sentence.replace(openings, '').trim();
  const whole = bare.length <= maxLength ? bare : bare.slice(0, maxLength + 1).replace(/\s+\S*$/, '');
  const name = whole.slice(0, maxLength).trim();
  return name === '' ? 'Untitled app' : name.slice(0, 1).toUpperCase() + name.slice(1);
}

/** One of the six colours of the charts, the same for an app each time. */
export function pickColour(id: string): number {
  let sum = 0;
  for (const letter of id) sum = (sum * 31 + letter.charCodeAt(0)) % 997;
  return sum % 6;
}
