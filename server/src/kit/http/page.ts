// Owns the HTML of the few pages that the API serves itself: one script, one style, and a content security policy that
// allows nothing else.
import { createHash } from 'node:crypto';

export interface HtmlPage {
  readonly html: string;
  /** Its `Content-Security-Policy`. */
  readonly policy: string;
}

export const renderPage = (parts: { title: string; style: string; script: string; main: string }): HtmlPage => ({
  html: `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="referrer" content="no-referrer">
  <title>${parts.title}</title>
  <style>${parts.style}</style>
</head>
<body>
  <main>${parts.main}</main>
  <script>${parts.script}</script>
</body>
</html>
`,
  policy: `default-src 'none'; script-src ${hashOf(parts.script)}; style-src ${hashOf(parts.style)}; connect-src 'self'; form-action 'none'; frame-ancestors 'none'`,
});

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
