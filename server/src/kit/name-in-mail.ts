// How the name of an app or a workspace is written in an e-mail.

const maxNameLength = 60;

/**
 * E-mails are also sent to strangers, and a name could be misused as a message to them. The name is therefore shortened,
 * and stripped of line breaks, invisible characters and anything that a mail client would turn into a link:
 * `Win at https://evil.example` becomes `Win at https evil example`. Returns `fallback` if nothing is left.
 */
export function toNameInMail(name: string, fallback: string): string {
  const plain = name
    .replace(/[\s\p{C}]+/gu, ' ')
    .replace(/[.:/\\@。｡．․：／＠]+(?=\S)/gu, ' ')
    .replace(/ +/g, ' ')
    .trim();
  const characters = [...plain];
  if (characters.length > maxNameLength)
    return `${characters
      .slice(0, maxNameLength - 1)
      .join('')
      .trimEnd()}…`;
  return plain === '' ? fallback : plain;
}
