// Finds placeholders that models write instead of code, such as `// … keep existing code …`. Replacing code with
// a placeholder would delete the code. Pure and linear.

// The start of a comment in HTML, CSS, JavaScript, JSX, Python and shell.
const commentStart = /^(?:\{?\/\*+|\/\/+|<!--+|#+|\*)\s*/;
const ellipsis = /\.{3}|…/;
const leftOutWords =
  /\b(?:existing|rest|remain(?:s|ing|der)?|unchanged|previous|keep|kept|omitted|other|same|as before|above|below|more)\b/i;
const restPhrase =
  /\b(?:rest of (?:the |this |your )?(?:code|file|component|function|page|markup|content|styles?|script)|(?:existing|previous|remaining|original|other) (?:code|content|implementation|markup|styles?|functions?|methods?|logic)\b.{0,40}\b(?:here|stays?|remains?|unchanged|goes|as is|same))/i;

export interface Elision {
  readonly line: number;
  readonly text: string;
}

/** Returns the first line in `newText` that is a placeholder and does not occur in `oldText`. */
export function findElision(newText: string, oldText: string): Elision | undefined {
  const oldLines = new Set(oldText.split('\n').map((line) => line.trim()));
  for (const [index, raw] of newText.split('\n').entries()) {
    const text = raw.trim();
    if (text !== '' && text.length <= 200 && isPlaceholder(text) && !oldLines.has(text))
      return { line: index + 1, text };
  }
  return undefined;
}

function isPlaceholder(line: string): boolean {
  const comment = line.replace(commentStart, '');
  if (comment === line) return line === '...' || line === '…';
  const words = comment.replaceAll(/[^\p{L}\p{N}]+/gu, ' ').trim();
  if (ellipsis.test(comment)) return words === '' || leftOutWords.test(comment);
  return restPhrase.test(comment);
}
