// Renders the consent page of the sandbox's authorization servers: who asks for what, and what happens next.
import { type Html, html } from './pages/html.ts';
import type { Page } from './pages/page.ts';

export interface ConsentRequest {
  /** The connector's type, which is also the name of the service that the sandbox stands in for. */
  readonly service: string;
  readonly clientId: string;
  /** Where the person is sent afterwards. */
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly startPage: string | undefined;
}

export function toConsentPage({ service, clientId, redirectUri, scopes, startPage }: ConsentRequest): Page {
  const asker = URL.canParse(redirectUri) ? new URL(redirectUri).origin : redirectUri;
  return {
    title: `Allow access to ${service}?`,
    main: html`<h1>Allow access to ${service}?</h1>
<p>Plinth at <b>${asker}</b> asks to use your <b>${service}</b> account. It asks for ${scopes.length === 0 ? 'no particular permission.' : 'these permissions:'}</p>
${scopes.length === 0 ? undefined : html`<ul class="plain">${scopes.map(renderScope)}</ul>`}
<form method="post" class="answers">
<button name="answer" value="allow">Allow</button>
<button name="answer" value="deny" class="second">Deny</button>
</form>
<p class="quiet">Either answer takes you back to ${asker}. This page belongs to the sandbox, which stands in for ${service}: there is no real account, and nothing leaves this machine. The client is <code>${clientId}</code>.</p>`,
    startPage,
    isNarrow: true,
    sendsFormsElsewhere: true,
  };
}

const renderScope = (scope: string): Html =>
  html`<li><code>${scope}</code><span class="quiet">${scopeTexts.get(scope)}</span></li>`;

/** The scopes that OpenID Connect defines. All others have the names of the service. */
const scopeTexts: ReadonlyMap<string, string> = new Map([
  ['openid', 'know who you are'],
  ['profile', 'read your name and picture'],
  ['email', 'read your e-mail address'],
  ['offline_access', 'use the account while you are away'],
]);

/** A message instead of the consent page. */
export const toProblemPage = (text: string, startPage: string | undefined): Page => ({
  title: "This connection can't continue",
  main: html`<h1>This connection can't continue</h1>
<p>${text}</p>
<p>Go back to Plinth and connect the service again.</p>`,
  startPage,
  isNarrow: true,
});
