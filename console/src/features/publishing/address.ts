// The address of a published app: the name in it that people choose, and who can open it.

const form = /^(?!xn--|preview--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/;

/** Why a name can't be in an address, with one that can. Undefined if it can. */
export function findNameFault(name: string): string | undefined {
  if (form.test(name)) return undefined;
  const plain = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replaceAll(/^-|-$/g, '');
  return `Use lower-case letters, digits and hyphens: for example ${form.test(plain) ? plain : 'my-tasks'}.`;
}

/** The address of a published app, once its name in the address is another one. */
export function changeName(address: string, from: string, to: string): string {
  const url = new URL(address);
  if (url.hostname.startsWith(`${from}.`)) url.hostname = to + url.hostname.slice(from.length);
  else url.pathname = url.pathname.replace(`/${from}/`, `/${to}/`);
  return url.href;
}

/** Whether an address leads to the computer on which it is opened, so nobody else gets to the app. */
export function isOnlyHere(address: string): boolean {
  const { hostname } = new URL(address);
  return /^(.+\.)?localhost$|^127\.|^\[::1\]$/.test(hostname);
}
