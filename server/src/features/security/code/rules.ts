// The code rules: their ids, the severity of their findings, and the descriptions shown to people.
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
    title: 'SQL is built from request data',
    description:
      'A value from the request becomes part of a SQL statement. Anyone who can send a request can change what the statement does.',
    recommendation:
      'Pass the value as a query parameter ($1, ?, or a tagged template). Choose column names from a fixed list.',
  },
  'code.command-injection': {
    category: 'injection',
    severity: 'critical',
    title: 'A shell command is built from request data',
    description:
      'A value from the request becomes part of a shell command. Anyone who can send a request can run their own commands.',
    recommendation: 'Start the program without a shell, and pass the value as a separate argument.',
  },
  'code.code-injection': {
    category: 'injection',
    severity: 'critical',
    title: 'Text is run as code',
    description:
      'A value that is not a constant is run as code. Anyone who can set the value can run their own code with the permissions of this app.',
    recommendation: 'Parse the value instead, for example with JSON.parse, or choose from a fixed list of functions.',
  },
  'code.nosql-injection': {
    category: 'injection',
    severity: 'high',
    title: 'A database filter is taken from the request',
    description:
      'A value from the request is used in a filter without being converted to text. A caller can instead send an object with operators such as $ne, which match other records.',
    recommendation: 'Convert each value with String() or check its type before you use it in a filter.',
  },
  'code.template-injection': {
    category: 'injection',
    severity: 'critical',
    title: 'A template is built from request data',
    description: 'A value from the request is compiled as a template. Templates can run code.',
    recommendation: "Keep templates in the app's files, and pass request data to them only as values.",
  },
  'code.xss-html': {
    category: 'xss',
    severity: 'high',
    title: 'HTML is built from untrusted text',
    description:
      'Text that others can set is inserted as HTML. It can contain a script that runs in the browser of anyone who opens the page, with their permissions.',
    recommendation:
      'Insert text with textContent or as a JSX child. If it must be HTML, sanitise it with DOMPurify first.',
  },
  'code.xss-link': {
    category: 'xss',
    severity: 'medium',
    title: 'A link URL is taken from the page URL',
    description:
      'The URL of a link, frame or script is taken from the page URL. A URL that begins with javascript: runs as code.',
    recommendation: 'Parse the URL with new URL(), and accept only the protocols http: and https:.',
  },
  'code.xss-answer': {
    category: 'xss',
    severity: 'high',
    title: 'An HTML response contains request data',
    description:
      'The response is HTML and contains unescaped text from the request. A link to this URL can contain a script that runs in the browser of anyone who follows it.',
    recommendation: 'Replace &, <, >, " and \' in the text with HTML entities, or respond with JSON.',
  },
  'code.path-traversal': {
    category: 'path_traversal',
    severity: 'high',
    title: 'A file path is taken from the request',
    description:
      'A value from the request is part of a file path. By including ../ in the value, a caller can reach files outside the folder.',
    recommendation:
      'Use only the last part of the name (path.basename), or resolve the path and check that it begins with the folder followed by a separator.',
  },
  'code.ssrf': {
    category: 'ssrf',
    severity: 'high',
    title: 'The URL of an outgoing request is taken from the incoming request',
    description:
      "The server sends a request to a URL that the caller chooses. A caller can reach servers that aren't public, such as the machine's metadata service.",
    recommendation: "Check the URL's host against a fixed list before you send the request.",
  },
  'code.open-redirect': {
    category: 'open_redirect',
    severity: 'medium',
    title: 'The page redirects to an address from its own URL',
    description:
      'The page redirects its visitors to an address taken from its own URL. A link to this page can lead to a page that only looks like this app.',
    recommendation:
      'Accept only paths within this app, which begin with one slash, not two. Or choose the address from a fixed list.',
  },
  'code.weak-randomness': {
    category: 'weak_randomness',
    severity: 'medium',
    title: 'A secret is generated with Math.random',
    description: 'Math.random is predictable. Others can guess secrets that are generated with it.',
    recommendation: 'Use crypto.randomUUID() or crypto.getRandomValues().',
  },
  'code.weak-crypto': {
    category: 'weak_crypto',
    severity: 'medium',
    title: 'A password is hashed with a fast function',
    description:
      'MD5, SHA-1 and SHA-256 are fast. Anyone who obtains the hashes can try billions of passwords per second.',
    recommendation: 'Use argon2id, scrypt or bcrypt for passwords.',
  },
  'code.tls-disabled': {
    category: 'tls_disabled',
    severity: 'high',
    title: 'Certificates are not verified',
    description:
      'TLS certificates are not verified. Anyone between the app and the server can read and change the data.',
    recommendation: 'Remove this setting. If the server uses a self-signed certificate, pass that certificate as ca.',
  },
  'code.prototype-pollution': {
    category: 'prototype_pollution',
    severity: 'medium',
    title: 'Property names are taken from the request',
    description:
      'Two names from the request are used one after the other to set a property. With the name __proto__, a caller can change every object in the process.',
    recommendation: 'Use a Map, or reject the names __proto__, constructor and prototype.',
  },
  'code.message-origin': {
    category: 'message_origin',
    severity: 'medium',
    title: 'Messages from any page are accepted',
    description:
      'The page acts on messages without checking which page sent them. Any page that opens or embeds this one can send them.',
    recommendation: 'Check event.origin against the origins that you expect before you use event.data.',
  },
  'code.jwt-unverified': {
    category: 'jwt_unverified',
    severity: 'high',
    title: 'A token is read without checking its signature',
    description:
      "A token's claims are read, but its signature is not checked. Anyone can create a token with any claims.",
    recommendation: 'Verify the token, for example with jwtVerify from jose, before you use its claims.',
  },
} as const satisfies Record<string, CodeRule>;

export type CodeRuleId = keyof typeof codeRules;

export const functionRules: Readonly<Record<FunctionIssue, Rule>> = {
  no_caller_check: {
    severity: 'high',
    title: 'The function does not check who calls it',
    description:
      'The function reads or changes data with its own permissions, without first checking who sent the request. Anyone who knows its URL can call it.',
    recommendation:
      "Check the caller first, and return 401 if they aren't signed in. Or use a client with the caller's permissions, so your row rules apply.",
  },
  unverified_webhook: {
    severity: 'high',
    title: 'The webhook does not verify signatures',
    description:
      'The function acts on events from another service, but does not verify that this service sent them. Anyone who knows its URL can send events.',
    recommendation:
      "Compute the body's signature with the webhook's secret, compare it with the signature that was sent, and return 400 if they differ.",
  },
  open_cors: {
    severity: 'medium',
    title: 'Other websites can read responses to signed-in users',
    description: "The function allows any website to call it with a visitor's cookies and to read the response.",
    recommendation: 'Check the Origin header against a fixed list of origins, and return it only if it is in the list.',
  },
  unsafe_redirect: {
    severity: 'medium',
    title: 'The function redirects to an address from the request',
    description:
      'The response redirects the browser to an address taken from the request. A link to this function can lead to a page that only looks like this app.',
    recommendation:
      'Accept only paths that begin with one slash, or check the host of the address against a fixed list.',
  },
  secret_in_response: {
    severity: 'critical',
    title: 'The response contains a secret',
    description: 'A secret from the environment is part of the response. Anyone who can call the function can read it.',
    recommendation:
      'Remove the secret from the response and rotate it at its provider, because it may already have been read.',
  },
};
