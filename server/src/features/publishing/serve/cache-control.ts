// Defines how long browsers cache a published file. Build tools put a hash of the content into file names, so changed
// content gets a new name. These files are cached for a year without revalidation. Browsers revalidate all other files
// on each use, and receive a 304 if nothing has changed.
//
// A name that only looks hashed would also be cached for a year, even if the content changes. The rule is therefore
// strict. It covers scripts, styles, fonts, images, media and source maps whose name, without the extension, ends with
// `-` or `.` followed by
//
//   8 to 64 digits and letters a-f, with a digit somewhere before a letter    main.3f2a1b4c.js   logo-9e107d9d372bb682.svg
//   in a folder `assets`, as written by Vite: 8 letters, digits, - and _,
//   of both cases, with a digit somewhere before a letter                     assets/index-BsJ2kdhC.js
//
//   not: report-20240101.png   my-dashboard.js   main.abcdefab.js   index-BsJ2kdhC.js   assets/Invoice1.js   3f2a1b4c.html

const oneYear = 'public, max-age=31536000, immutable';

export const cacheControlOf = (path: string): string => (hasContentHash(path) ? oneYear : 'no-cache');

const extensions =
  'js|mjs|css|map|wasm|woff2?|ttf|otf|eot|png|jpe?g|gif|webp|avif|svg|ico|mp4|webm|ogv|mp3|m4a|ogg|wav|flac';
const hexName = new RegExp(`[-.]([0-9a-f]{8,64})(?:\\.chunk|\\.min)?\\.(?:${extensions})(?:\\.map)?$`);
const viteName = new RegExp(`(?:^|/)assets/(?:[^/]*/)*[^/]*[-.]([A-Za-z0-9_-]{8})\\.(?:${extensions})(?:\\.map)?$`);

function hasContentHash(path: string): boolean {
  const hex = hexName.exec(path)?.[1];
  if (hex !== undefined && /\d.*[a-f]/.test(hex)) return true;
  const mixed = viteName.exec(path)?.[1];
  return mixed !== undefined && /[A-Z]/.test(mixed) && /[a-z]/.test(mixed) && /\d.*[A-Za-z]/.test(mixed);
}
