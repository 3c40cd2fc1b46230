// Finds the secrets in a setting's text, in every form in which another program might repeat them.

/** Settings with such names contain nothing but secrets. */
const secretName = /SECRET|TOKEN|PEPPERS|PASSPHRASE|CREDENTIALS|(^|_)KEYS?(_|$)/;
/** A shorter text is no secret, and replacing it would make messages unreadable. */
const minLength = 4;

/** Returns a secret setting's text and its parts, or the password of a setting that is a URL. */
export function findSecrets(name: string, text: string): string[] {
  const found = secretName.test(name) ? listParts(text) : listPasswords(text);
  return [...new Set(found)].filter((secret) => secret.length >= minLength);
}

/** Key lists consist of `id:key` pairs, and credential files of JSON or PEM, either plain or in base64. */
function listParts(text: string): string[] {
  const decoded = Buffer.from(text, 'base64').toString('utf8');
  const isText = /BEGIN|^\s*\{/.test(decoded);
  const whole = [text, ...(isText ? [decoded] : [])];
  const parts = whole.flatMap((each) => [
    ...each.split(/[,:]/),
    ...each.split(/\\n|\n/),
    ...[...each.matchAll(/"([^"\\]*(?:\\.[^"\\]*)*)"/g)].map(([, value = '']) => value),
  ]);
  // Shorter parts are ids, names of fields and the like.
  return [...whole, ...parts.map((part) => part.trim()).filter((part) => part.length >= 16)];
}

function listPasswords(text: string): string[] {
  const url = URL.parse(text);
  if (url === null) return [];
  // PostgreSQL's URLs may have the password as a parameter.
  const [user, password] = [decode(url.username), decode(url.password) || (url.searchParams.get('password') ?? '')];
  if (password === '') return [];
  const encoded = [password, `${user}:${password}`, `\0${user}\0${password}`].map((each) =>
    Buffer.from(each).toString('base64'),
  );
  return [url.password, password, ...encoded];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
