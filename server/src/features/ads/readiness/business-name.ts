// Owns the name under which an app advertises, if nobody chooses another.
import { measureAdLength } from '../creative/slots.ts';

const maxUnits = 25;
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The beginning of the app's name. A character that is made of several is kept whole, unless it is too long by itself. */
export const businessNameOf = (appName: string): string =>
  takeUnits(Array.from(graphemes.segment(appName), ({ segment }) => segment)) || takeUnits([...appName]);

function takeUnits(characters: readonly string[]): string {
  let [taken, units] = ['', 0];
  for (const character of characters) {
    units += measureAdLength(character);
    if (units > maxUnits) break;
    taken += character;
  }
  return taken.trim();
}
