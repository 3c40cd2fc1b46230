// The extra fields of findings in the groups "functions" and "static code".

export type FunctionIssue =
  | 'no_caller_check'
  | 'unverified_webhook'
  | 'open_cors'
  | 'unsafe_redirect'
  | 'secret_in_response';

export interface FunctionItem {
  readonly file_path: string;
  readonly line: number;
  readonly function_name: string;
  readonly issue: FunctionIssue;
}

export type CodeCategory =
  | 'injection'
  | 'xss'
  | 'path_traversal'
  | 'ssrf'
  | 'open_redirect'
  | 'weak_randomness'
  | 'weak_crypto'
  | 'tls_disabled'
  | 'prototype_pollution'
  | 'message_origin'
  | 'jwt_unverified';

export interface CodeItem {
  readonly file_path: string;
  readonly line_start: number;
  readonly line_end: number;
  readonly category: CodeCategory;
  readonly confidence: 'high' | 'medium' | 'low';
  /** At most ten lines, with secrets masked. */
  readonly snippet: string;
  readonly verdict: 'confirmed' | 'likely' | 'unverified';
}

/** Whether built-in integrations are called from code that an anonymous visitor can reach. */
export type IntegrationUse = 'compatible' | 'needs_changes' | 'not_used' | 'unknown';
