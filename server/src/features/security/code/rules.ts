// Owns the rules on code: their ids, how bad what they find is, and what people read about it.
import type { Severity } from '../finding.ts';
import type { CodeCategory, FunctionIssue } from './item.ts';

interface Rule {
  readonly severity: Severity;
  readonly title: string;
  readonly description: string;
  readonly recommendation: string;
}

export interface CodeRule extends Rule {
  readonly category: CodeCategory;
}

export const codeRules = {
  'code.sql-injection': {
    category: 'injection',
    severity: 'critical',
    title: 'SQL is built from what a caller sends',
    description:
      'A value from the request becomes part of the text of a SQL statement. Whoever sends the request can change what the statement does.',
    recommendation:
      'Pass the value as a parameter of the statement ($1, ?, or a tagged template). Choose names of columns from a fixed list.',
  },
  'code.command-injection': {
    category: 'injection',
    severity: 'critical',
    title: 'A shell command is built from what a caller sends',
    description:
      'A value from the request becomes part of a command that a shell runs. Whoever sends the request can run commands of their own.',
    recommendation: 'Start the program without a shell and pass the value as one element of its list of arguments.',
  },
  'code.code-injection': {
    category: 'injection',
    severity: 'critical',
    title: 'Text is run as code',
    description:
      'A value that is not a constant is run as code. Whoever can set the value can run code of their own with the rights of this app.',
    recommendation: 'Parse the value instead, for example with JSON.parse, or choose from a fixed list of functions.',
  },
  'code.nosql-injection': {
    category: 'injection',
    severity: 'high',
    title: 'A database filter is taken from the request',
    description:
      'A value from the request is used in a filter without being converted to text. A caller can send an object with operators such as $ne instead, which match other records.',
    recommendation: 'Convert each value with String() or check its type before you use it in a filter.',
  },
  'code.template-injection': {
    category: 'injection',
    severity: 'critical',
    title: 'A template is built from what a caller sends',
    description: 'A value from the request is compiled as a template. Templates can run code.',
    recommendation: 'Keep templates in files of the app, and pass what callers send only as values of a template.',
  },
  'code.xss-html': {
    category: 'xss',
    severity: 'high',
    title: 'HTML is built from text that others can set',
    description:
      'Text that others can set is inserted as HTML. It can contain a script that runs in the browser of whoever opens the page, with their rights.',
    recommendation:
      'Insert text with textContent or as a child in JSX. If it must be HTML, clean it with DOMPurify first.',
  },
  'code.xss-link': {
    category: 'xss',
    severity: 'medium',
    title: 'The address of a link is taken from the page address',
    description:
      'A link, frame or script has an address from the page address. An address that begins with javascript: runs as code.',
    recommendation: 'Parse the address with new URL() and accept only the protocols http: and https:.',
  },
  'code.xss-answer': {
    category: 'xss',
    severity: 'high',
    title: 'An HTML answer contains what the caller sent',
    description:
      'The answer is HTML and contains text from the request as it is. A link to this address can contain a script that runs in the browser of whoever follows it.',
    recommendation: 'Replace &, <, >, " and \' in the text by HTML entities, or answer with JSON.',
  },
  'code.path-traversal': {
    category: 'path_traversal',
    severity: 'high',
    title: 'The path of a file is taken from the request',
    description:
      'A value from the request is part of the path of a file. With ../ in it a caller can reach files outside of the folder.',
    recommendation:
      'Use only the last part of the name (path.basename), or resolve the path and check that it begins with the folder and a separator.',
  },
  'code.ssrf': {
    category: 'ssrf',
    severity: 'high',
    title: 'The address of an outgoing request is taken from the request',
    description:
      'The server sends a request to an address that the caller chooses. A caller can reach servers that are not public, such as the metadata of the machine.',
    recommendation: 'Compare the host of the address with a fixed list before you send the request.',
  },
  'code.open-redirect': {
    category: 'open_redirect',
    severity: 'medium',
    title: 'The page leads to an address from the page address',
    description:
      'The page sends its visitor to an address that is taken from its own. A link to this page can lead to a page that only looks like this app.',
    recommendation:
      'Accept only paths of this app: they begin with one slash, not two. Or choose the address from a fixed list.',
  },
  'code.weak-randomness': {
    category: 'weak_randomness',
    severity: 'medium',
    title: 'A secret is made with Math.random',
    description: 'Math.random can be predicted. Others can guess secrets that are made with it.',
    recommendation: 'Use crypto.randomUUID() or crypto.getRandomValues().',
  },
  'code.weak-crypto': {
    category: 'weak_crypto',
    severity: 'medium',
    title: 'A password is hashed with a fast function',
    description: 'MD5, SHA-1 and SHA-256 are fast. Whoever gets the hashes can try billions of passwords a second.',
    recommendation: 'Use argon2id, scrypt or bcrypt for passwords.',
  },
  'code.tls-disabled': {
    category: 'tls_disabled',
    severity: 'high',
    title: 'Certificates are not checked',
    description: 'The check of certificates is switched off. Anybody on the way can read and change what is sent.',
    recommendation: 'Remove this setting. If a server has a certificate of its own, pass that certificate as ca.',
  },
  'code.prototype-pollution': {
    category: 'prototype_pollution',
    severity: 'medium',
    title: 'Names of properties are taken from the request',
    description:
      'Two names from the request are used one after the other to set a property. With the name __proto__ a caller changes every object of the process.',
    recommendation: 'Use a Map, or refuse the names __proto__, constructor and prototype.',
  },
  'code.message-origin': {
    category: 'message_origin',
    severity: 'medium',
    title: 'Messages of any page are accepted',
    description:
      'The page acts on messages without checking which page sent them. Any page that opens or embeds this one can send them.',
    recommendation: 'Compare event.origin with the addresses that you expect before you use event.data.',
  },
  'code.jwt-unverified': {
    category: 'jwt_unverified',
    severity: 'high',
    title: 'A token is read without checking its signature',
    description:
      'The claims of a token are read, but its signature is not checked. Anybody can write a token with any claims.',
    recommendation: 'Verify the token, for example with jwtVerify of jose, before you use its claims.',
  },
} as const satisfies Record<string, CodeRule>;

export type CodeRuleId = keyof typeof codeRules;

export const functionRules: Readonly<Record<FunctionIssue, Rule>> = {
  no_caller_check: {
    severity: 'high',
    title: 'The function does not check who calls it',
    description:
      'The function reads or changes data with rights of its own, and nothing before that checks who sent the request. Anybody who knows its address can call it.',
    recommendation:
      'Check the caller first, and answer 401 if nobody is signed in. Or use a client with the rights of the caller, so that your row rules decide.',
  },
  unverified_webhook: {
    severity: 'high',
    title: 'The webhook does not check its signature',
    description:
      'The function acts on events of another service, and does not check that this service sent them. Anybody who knows its address can send events.',
    recommendation:
      'Compute the signature of the body with the secret of the webhook, compare it with the one that was sent, and answer 400 if they differ.',
  },
  open_cors: {
    severity: 'medium',
    title: 'Other websites can read the answers of signed-in users',
    description: 'The function allows any website to call it with the cookies of its visitor and to read the answer.',
    recommendation:
      'Compare the header Origin with a fixed list of addresses, and send it back only if it is in the list.',
  },
  unsafe_redirect: {
    severity: 'medium',
    title: 'The function redirects to an address from the request',
    description:
      'The answer sends the browser to an address that is taken from the request. A link to this function can lead to a page that only looks like this app.',
    recommendation:
      'Accept only paths that begin with one slash, or compare the host of the address with a fixed list.',
  },
  secret_in_response: {
    severity: 'critical',
    title: 'The answer contains a secret',
    description: 'A secret of the environment is part of the answer. Whoever may call the function can read it.',
    recommendation:
      'Remove the secret from the answer and replace it at its provider, because it may have been read already.',
  },
};
