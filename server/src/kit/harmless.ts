// Makes untrusted text safe to display. Neutralises everything that a terminal would interpret, or that would
// change the text's apparent order.

const esc = '\u001b';
/** Colours and cursor movements, such as `ESC [ 31 m`. */
const sequence = new RegExp(`${esc}\\[[0-9:;<=>?]{0,32}[ -/]{0,4}[@-~]`, 'g');
/** An incomplete sequence or line ending at a chunk's end. The next chunk may complete it. */
export const unfinishedSequence = new RegExp(`(?:\\r|${esc}(?:\\[[0-9:;<=>?]{0,32}[ -/]{0,4})?)$`);
/** Control characters, including characters that change the text direction. */
const controls = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Removes colour and cursor sequences, and makes all other control characters visible, except line endings and tabs.
 */
export const makeHarmless = (text: string): string =>
  text.toWellFormed().replace(sequence, '').replace(/\r\n?/g, '\n').replace(controls, toVisible);

function toVisible(character: string): string {
  const code = character.charCodeAt(0);
  if (character === '\n' || character === '\t') return character;
  if (code < 0x20) return String.fromCharCode(0x2400 + code); // a Unicode control picture, such as ␛
  return code === 0x7f ? '\u2421' : '\ufffd';
}
