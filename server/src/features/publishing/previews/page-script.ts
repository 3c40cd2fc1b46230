// Adds the script that reports to the console to the pages of a preview.

export const previewScriptName = 'preview.js';

interface ScriptTag {
  readonly scriptUrl: string;
  readonly appId: string;
  readonly consoleOrigin: string;
  readonly revision: number;
}

/**
 * Adds the script as the first of the page. It comes after the document type, because anything before it would change
 * how browsers lay the page out. They put what follows it into the head, even before `<html>`:
 *
 *   <!-- shop --><!doctype html><html lang="en">…
 *   <!-- shop --><!doctype html><script src=…></script><html lang="en">…
 */
export function addScript(page: Buffer, tag: ScriptTag): Buffer {
  const start = page.toString('latin1', 0, maxPreambleBytes);
  const end = preamble.exec(start)?.[0].length ?? 0;
  return Buffer.concat([page.subarray(0, end), Buffer.from(renderScript(tag)), page.subarray(end)]);
}

const maxPreambleBytes = 64 * 1024;
/** The document type, and blanks and comments before it. In Latin-1, a byte order mark is three letters. */
const preamble = /^(?:ï»¿)?(?:\s|<!--(?:(?!-->)[\s\S])*-->)*<!doctype[^>]*>/i;

/** None of the values needs escaping: they are our own addresses, an id and a number. */
const renderScript = ({ scriptUrl, appId, consoleOrigin, revision }: ScriptTag): string =>
  `<script src="${scriptUrl}" data-app="${appId}" data-console="${consoleOrigin}" data-revision="${revision}"></script>`;
