// Text of models and people as elements. Markdown is read, HTML and pictures stay text: nothing in it loads or runs.
import { lexer, type Token, type Tokens } from 'marked';
import { Fragment, type ReactNode } from 'react';

export function Markdown({ text }: { readonly text: string }) {
  return <div className="flex min-w-0 flex-col gap-3">{draw(lexer(text))}</div>;
}

const draw = (tokens: readonly Token[] = []): ReactNode =>
  // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no other name, and their order is the text's
  tokens.map((token, index) => <Fragment key={index}>{drawOne(token)}</Fragment>);

function drawOne(token: Token): ReactNode {
  switch (token.type) {
    case 'space':
      return null;
    case 'heading':
      return <p className="font-semibold">{draw(token.tokens)}</p>;
    case 'paragraph':
      return <p className="whitespace-pre-line">{draw(token.tokens)}</p>;
    case 'list': {
      const { items, ordered, start } = token as Tokens.List;
      const entries = items.map((item, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: as above
        <li key={index} className="pl-1">
          {draw(item.tokens)}
        </li>
      ));
      return ordered ? (
        <ol start={Number(start) || 1} className="flex list-decimal flex-col gap-1 pl-6">
          {entries}
        </ol>
      ) : (
        <ul className="flex list-disc flex-col gap-1 pl-6">{entries}</ul>
      );
    }
    case 'code':
      return (
        <pre tabIndex={0} className="overflow-x-auto rounded-medium bg-sunken p-3 font-mono text-dense">
          {token.text}
        </pre>
      );
    case 'blockquote':
      return <blockquote className="border-l border-field pl-3 text-quiet">{draw(token.tokens)}</blockquote>;
    case 'strong':
      return <strong className="font-semibold">{draw(token.tokens)}</strong>;
    case 'em':
      return <em>{draw(token.tokens)}</em>;
    case 'codespan':
      return <code className="rounded-small bg-sunken px-1 font-mono text-dense">{token.text}</code>;
    case 'br':
      return <br />;
    case 'hr':
      return <hr className="border-line" />;
    case 'link':
      return isSafe(token.href) ? (
        <a href={token.href} target="_blank" rel="noreferrer noopener" className="text-link underline">
          {draw(token.tokens)}
        </a>
      ) : (
        token.raw
      );
    case 'text':
      return 'tokens' in token && token.tokens ? draw(token.tokens) : unescapeText(token.text);
    case 'escape':
      return token.text;
    default:
      return token.raw;
  }
}

const isSafe = (href: string): boolean => URL.canParse(href) && /^https?:$/.test(new URL(href).protocol);

const names: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** The lexer leaves entities as they are written. */
const unescapeText = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#39);/g, (whole, name) => names[name] ?? whole);
