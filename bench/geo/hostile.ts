// Queries that are as expensive as possible: long combinations of the trigrams and words that most names contain.
const frequentWords =
  'san la de el los las santa maria new york city villa north south east west port fort lake saint ';

export const hostileQueries: readonly string[] = [
  frequentWords.repeat(3).slice(0, 256),
  'san '.repeat(64),
  'san s a n sa an ',
  'united states of amerika unted stats',
  'unitedstates '.repeat(19),
  'a'.repeat(256),
  'an ar en er in on la le de el al il an ar en er',
  'ﷺ'.repeat(256),
];
