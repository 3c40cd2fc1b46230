// The content types of published files, by file extension, and which types are worth compressing.

export interface ContentType {
  readonly header: string;
  readonly isCompressible: boolean;
}

const text = (type: string): ContentType => ({ header: `${type}; charset=utf-8`, isCompressible: true });
const compressible = (type: string): ContentType => ({ header: type, isCompressible: true });
const compressed = (type: string): ContentType => ({ header: type, isCompressible: false });

const types = new Map<string, ContentType>(
  Object.entries({
    html: text('text/html'),
    htm: text('text/html'),
    css: text('text/css'),
    js: text('text/javascript'),
    mjs: text('text/javascript'),
    cjs: text('text/javascript'),
    json: text('application/json'),
    map: text('application/json'),
    jsonld: text('application/ld+json'),
    webmanifest: text('application/manifest+json'),
    txt: text('text/plain'),
    md: text('text/markdown'),
    csv: text('text/csv'),
    tsv: text('text/tab-separated-values'),
    vtt: text('text/vtt'),
    ics: text('text/calendar'),
    xml: text('application/xml'),
    xsl: text('application/xml'),
    rss: text('application/rss+xml'),
    atom: text('application/atom+xml'),
    xhtml: text('application/xhtml+xml'),
    svg: text('image/svg+xml'),
    geojson: text('application/geo+json'),
    yaml: text('application/yaml'),
    yml: text('application/yaml'),
    wasm: compressible('application/wasm'),
    ico: compressible('image/x-icon'),
    bmp: compressible('image/bmp'),
    ttf: compressible('font/ttf'),
    otf: compressible('font/otf'),
    eot: compressible('application/vnd.ms-fontobject'),
    glb: compressible('model/gltf-binary'),
    gltf: text('model/gltf+json'),
    woff: compressed('font/woff'),
    woff2: compressed('font/woff2'),
    png: compressed('image/png'),
    jpg: compressed('image/jpeg'),
    jpeg: compressed('image/jpeg'),
    gif: compressed('image/gif'),
    webp: compressed('image/webp'),
    avif: compressed('image/avif'),
    mp4: compressed('video/mp4'),
    m4v: compressed('video/mp4'),
    webm: compressed('video/webm'),
    ogv: compressed('video/ogg'),
    mov: compressed('video/quicktime'),
    mp3: compressed('audio/mpeg'),
    m4a: compressed('audio/mp4'),
    ogg: compressed('audio/ogg'),
    opus: compressed('audio/ogg'),
    wav: compressible('audio/wav'),
    flac: compressed('audio/flac'),
    pdf: compressed('application/pdf'),
    zip: compressed('application/zip'),
    gz: compressed('application/gzip'),
  }),
);

const unknownType = compressed('application/octet-stream');

export const contentTypeOf = (path: string): ContentType => types.get(extensionOf(path)) ?? unknownType;

/** The extension in lower case, without the dot. Empty if the name has none. */
const extensionOf = (path: string): string => /\.([a-z0-9]{1,12})$/.exec(path.toLowerCase())?.[1] ?? '';

/** Whether the file is served as UTF-8 text. */
export const isText = (path: string): boolean => contentTypeOf(path).header.endsWith('charset=utf-8');
