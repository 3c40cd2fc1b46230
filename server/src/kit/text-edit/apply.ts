// Defines how an agent edits a text by exact replacement. If an edit is refused, the agent is told how often the old
// text occurs, where the nearest lines are, or that a placeholder would delete code. Also shows a text by lines. Pure.
import { type Edit, editText, type NearLines } from './edit.ts';
import { findElision } from './elision.ts';

export type AppliedEdit =
  | { readonly text: string; readonly notes: readonly string[] }
  /** The reason why the edit was refused, in words for the agent. */
  | { readonly refusal: string };

/** `maxCharacters` limits the result's length. */
export function applyEdit(text: string, edit: Edit, maxCharacters: number): AppliedEdit {
  const { oldText, newText } = edit;
  if (oldText === newText) return { refusal: 'old_text and new_text are the same.' };
  const elision = describeElision(newText, oldText);
  if (elision !== undefined) return { refusal: elision };
  const edited = editText(text, edit, maxCharacters);
  if ('tooLong' in edited) return { refusal: describeTooLarge(maxCharacters) };
  if ('nearest' in edited) return { refusal: `old_text occurs 0 times in the file.${showNearest(edited.nearest)}` };
  if ('lines' in edited) {
    const times = edited.more ? `more than ${edited.lines.length} times, first` : `${edited.lines.length} times,`;
    return {
      refusal: `old_text occurs ${times} at lines ${edited.lines.join(', ')}. Give more lines around the one you mean, or set replace_all.`,
    };
  }
  const places = edited.replaced === 1 ? `line ${edited.line}` : `${edited.replaced} places`;
  const tolerated = 'It matched only after line ends and spaces at the end of lines were ignored.';
  return { text: edited.text, notes: [`Replaced at ${places}.`, ...(edited.tolerated ? [tolerated] : [])] };
}

export const describeTooLarge = (maxBytes: number): string => `A file can have at most ${maxBytes} bytes.`;

const showNearest = (nearest: NearLines | undefined): string =>
  nearest === undefined
    ? ' Read the file again.'
    : ` The nearest lines, from line ${nearest.firstLine}:\n${nearest.lines.map((line) => line.slice(0, 300)).join('\n')}`;

/** Describes a placeholder that would delete the code it replaces. Returns undefined if there is none. */
export function describeElision(newText: string, oldText: string): string | undefined {
  const elision = oldText.trim() === '' ? undefined : findElision(newText, oldText);
  if (elision === undefined) return undefined;
  return `Line ${elision.line} of your text is a placeholder for code that you left out: ${elision.text}\nWrite the code itself, or use edit_file for the lines that change.`;
}

const maxShown = { lines: 1_500, characters: 40_000 };

/** Returns as many whole lines as fit, with a note stating their range. */
export function showLines(wanted: readonly string[], fromLine: number, total: number): string {
  let length = 0;
  const shown: string[] = [];
  for (const line of wanted) {
    length += line.length + 1;
    if (shown.length === maxShown.lines || (length > maxShown.characters && shown.length > 0)) break;
    shown.push(line.length > maxShown.characters ? `${line.slice(0, maxShown.characters)}… (line cut)` : line);
  }
  const lastLine = fromLine + shown.length - 1;
  const rest = shown.length < wanted.length ? ` Cut here: read on with from_line ${lastLine + 1}.` : '';
  return `Lines ${fromLine} to ${lastLine} of ${total}.${rest}\n${shown.join('\n')}`;
}
