// Owns making text of strangers harmless to show: without anything that a terminal would obey, or that changes what people read.

const esc = '\u001b';
/** Colours and movements of the cursor, such as `ESC [ 31 m`. */
const sequence = new RegExp(`${esc}\\[[0-9:;<=>?]{0,32}[ -/]{0,4}[@-~]`, 'g');
/** Of text that comes in pieces: the rest of it, or of a line end, may come with the next one. */
export const unfinishedSequence = new RegExp(`(?:\\r|${esc}(?:\\[[0-9:;<=>?]{0,32}[ -/]{0,4})?)$`);
/** Control characters, and those that change the direction in which text is shown. */
const controls = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Leaves out colours. Makes other control characters visible, but for line ends and tabulators. */
export const makeHarmless = (text: string): string =>
  text.toWellFormed().replace(sequence, '').replace(/\r\n?/g, '\n').replace(controls, toVisible);

function toVisible(character: string): string {
  const code = character.charCodeAt(0);
  if (character === '\n' || character === '\t') return character;
  if (code < 0x20) return String.fromCharCode(0x2400 + code); // the Unicode picture of it, such as ␛
  return code === 0x7f ? '\u2421' : '\ufffd';
}
