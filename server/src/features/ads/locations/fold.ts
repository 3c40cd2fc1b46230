// Owns how names of places are compared: without case, accents, apostrophes and punctuation. The catalogue stores folded
// names and a search folds its query, both with this function, so that the two never differ.

/** Part of the checksum of the bundled catalogue: increase it with every change of `fold`, and it is loaded anew. */
export const foldVersion = 1;

// Letters that Unicode does not decompose into a letter and an accent.
const letters: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
  ħ: 'h',
  ŧ: 't',
  ŋ: 'n',
  ı: 'i',
  ə: 'a',
  // Persian and Arabic keyboards write the same letters with different characters.
  ی: 'ي',
  ک: 'ك',
  ة: 'ه',
};
const lettersPattern = new RegExp(`[${Object.keys(letters).join('')}]`, 'g');

// Accents of Latin, Greek and Cyrillic, points of Hebrew, vowel signs of Arabic. Vowels of Indic scripts stay.
const accents = /[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u0655\u0670]/g;
const apostrophes = /['’‘ʻʼʹ`´]/g;
const separators = /[^\p{L}\p{M}\p{N}]+/gu;

/** `Saint-Étienne` → `saint etienne`, `L'Aquila` → `laquila`, `St. Louis` → `st louis`, `İzmir` → `izmir`. */
export function fold(name: string): string {
  // Most names are like this, and a load folds half a million.
  if (/^[A-Za-z0-9]+(?: [A-Za-z0-9]+)*$/.test(name)) return name.toLowerCase();
  return name
    .replace(apostrophes, '')
    .normalize('NFKD')
    .toLowerCase()
    .replace(accents, '')
    .normalize('NFC')
    .replace(lettersPattern, (letter) => letters[letter] ?? letter)
    .replace(separators, ' ')
    .trim();
}
