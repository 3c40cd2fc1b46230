// The known behaviour of functions that are not part of the app: which ones pass their arguments on, which make
// them safe, and which return a result unrelated to their arguments.
import { allUses, uses } from './origins.ts';

const { sql, command, code, nosql, html, address, redirect, path, cors, key } = uses;

/** Functions that return a number, a boolean, a date or an id, regardless of their arguments. */
export const returnsHarmless =
  /^(Number|parseInt|parseFloat|BigInt|Boolean|Math\.\w+|isNaN|isFinite|Number\.\w+|Date\.\w+|Symbol|crypto\.(randomUUID|getRandomValues|randomBytes)|randomUUID|uuid|uuidv4|nanoid|performance\.now|Array\.isArray|document\.(createElement|createTextNode|getElementById|querySelector|querySelectorAll|createRange)|setTimeout|setInterval|useId|clsx|cn|cx|classNames|twMerge|require|Symbol\.for|crypto\.createHash|createHash|createHmac|crypto\.createHmac|crypto\.subtle\.\w+|console\.\w+|renderToString|renderToStaticMarkup|t|i18n\.t|i18next\.t|useTranslation|useTranslations|hljs\.\w+|Prism\.\w+|katex\.\w+|useRef|createRef|createContext|useReducer|useContext|Deno\.cwd|process\.cwd)$/;

/** Methods whose result is harmless, regardless of the receiver. */
export const harmlessMethods =
  /^(toFixed|toPrecision|toISOString|getTime|getFullYear|valueOf|toLocaleDateString|toLocaleTimeString|indexOf|lastIndexOf|findIndex|startsWith|endsWith|includes|test|has|every|some|charCodeAt|codePointAt|localeCompare|digest|getAttributeNames|addEventListener|removeEventListener|getDate|getDay|getMonth|getHours|getMinutes|setAttribute|appendChild|log)$/;

/** Functions that return their arguments in a different form. */
export const passesOn =
  /^(String|decodeURIComponent|decodeURI|unescape|JSON\.parse|JSON\.stringify|atob|btoa|Object\.(assign|values|keys|entries|fromEntries|freeze)|Array\.(from|of)|structuredClone|path\.(join|resolve|normalize|posix\.(join|resolve|normalize))|join|resolve|normalize|util\.format|format|Buffer\.from|Buffer\.concat|querystring\.(parse|stringify)|qs\.(parse|stringify)|url\.(parse|format)|parseUrl|URL\.parse|cloneDeep|merge|_\.\w+|lodash\.\w+|trim|toString|Promise\.(all|resolve|race|allSettled)|fromFileUrl|pathToFileURL|fileURLToPath|parse|decode|ensureString|formatMessage|dedent|readBody|readRawBody|readFormData|getQuery|getRouterParams?|getHeaders?|getRequestHeaders?)$/;

/** Names of package functions that make a value safe, and the uses for which it is then safe. */
const sanitisers: readonly (readonly [RegExp, number])[] = [
  [/(^|\.)(encodeURIComponent)$/, html | address | redirect | path | cors | key],
  [/(^|\.)encodeURI$/, html],
  [
    /(DOMPurify|purify|dompurify)(\(\))?\.sanitize$|(^|\.)(sanitizeHtml|sanitizeHTML|purify|xss|filterXSS|stripHtml|stripTags|striptags)$/i,
    html,
  ],
  [
    /(^|\.)(escapeHtml|escapeHTML|htmlEscape|encodeHtml|encodeHTML|he\.(encode|escape)|escapeXml|validator\.escape|_\.escape|lodash\.escape|escape_html|Bun\.escapeHTML|he\.encode|entities\.encode)$/,
    html,
  ],
  [/(^|\.)sanitize$/i, html],
  [/(^|\.)escape$/, html | sql],
  [/(^|\.)(escapeId|escapeIdentifier|escapeLiteral|sqlstring\.\w+|mysql\.escape|pgFormat|pg_format)$/, sql],
  [/(^|\.)(shellEscape|shellescape|shellQuote|quote|escapeShellArg|shescape\.\w+)$/, command],
  [/(^|\.)(basename)$/, path | redirect | address],
  [
    /(^|\.)(sanitizeFilename|sanitizeFileName|filenamify|slugify|slug|kebabCase|snakeCase|camelCase)$/,
    path | html | sql | command | redirect | address | cors,
  ],
  [/(^|\.)(mongoSanitize|sanitizeMongo|ObjectId|toObjectId)$/, nosql | sql | html | path],
  [/(^|\.)(sanitizeUrl|sanitizeURL|sanitizeHref)$/, html],
  [/(^|\.)(hash|sha256|sha1|md5|bcrypt\.\w+|hmac)$/, allUses],
  [/(^|\.)(safeRedirect|toSafePath|safePath)$/, redirect | path],
  [/(^|\.)String$/, nosql],
  [/(^|\.)JSON\.stringify$/, code | nosql],
];

export function sanitiserBits(name: string): number {
  let bits = 0;
  for (const [pattern, safe] of sanitisers) if (pattern.test(name)) bits |= safe;
  return bits;
}

/** Names of checks that are not part of the app's code. */
export const checkNames =
  /(^|\.)(is(Allowed|Valid|Safe|Trusted|UUID|Uuid|Int|Alpha|Alphanumeric|Numeric|Slug|Whitelisted|Allowlisted|Email|MongoId|IP)\w*|validateUuid|uuidValidate|assert(Allowed|Safe|Valid|Trusted)\w*|ensure(Allowed|Safe)\w*)$/;

/** Part of a schema, from zod or a similar library, whose values can't be dangerous text. */
export const strictSchema =
  /\.(number|int|bigint|boolean|enum|nativeEnum|literal|uuid|guid|cuid2?|ulid|nanoid|regex|datetime|date|email|ip|ipv4)\(/;

/** A prefix that fixes the host, so the text after it can't change the host. */
export const fixedHost = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+[/?#]|^\/[^/\\]|^[?#]|^\.{1,2}\/|^[\w-]+\/|^(mailto|tel):/i;

/**
 * A host without a terminator, such as `https://api.example`. Text that follows can turn it into a different host,
 * unless the text starts with a slash.
 */
export const hostOnly = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]*[^/?#\s.:@]$/i;
