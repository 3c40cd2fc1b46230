// Owns the HTML of the few pages that the API serves itself: one script, one style, and a content security policy that
// allows nothing else.
import { createHash } from 'node:crypto';
import { type Answer, withNotes } from './answer.ts';

interface HtmlPage {
  readonly html: string;
  /** The sources that the page may load, as in `Content-Security-Policy`. Others, and frames around it, are refused. */
  readonly sources: string;
}

/** Every page is answered through this function. No other site may show it in a frame. */
export const answerWithPage = ({ html, sources }: HtmlPage): Answer<string> =>
  withNotes(html, {
    headers: {
      'content-security-policy': `default-src 'none'; ${sources}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      'referrer-policy': 'no-referrer',
    },
  });

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
  sources: `script-src ${hashOf(parts.script)}; style-src ${hashOf(parts.style)}; connect-src 'self'`,
});

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
