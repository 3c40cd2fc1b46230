// The default name that an app advertises under.
import { measureAdLength } from '../rules/slots.ts';

const maxUnits = 25;
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The beginning of the app's name. Multi-character graphemes are kept whole, unless a single one exceeds the limit. */
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
