// The settings that all features share: mail, the language model, which private addresses may be reached, and who
// may create workspaces.
import { parseAllowList } from '../kit/outbound/address.ts';
import { commaList, oneOf, optional, setting, text, url } from './setting.ts';

export const installationSettings = {
  SMTP_URL: optional(
    'SMTP server for outgoing mail, such as `smtp://user:password@host:587`. If unset, no mail is sent. A stand-in that keeps all mails can name the page that shows them: `?inbox=http://…`; the console links to it wherever it says that a mail was sent.',
    url('smtp:', 'smtps:'),
  ),
  MAIL_FROM: setting('Sender address of outgoing mail.', 'Plinth <plinth@localhost>', text),
  PRODUCT_NAME: optional(
    'The name under which you offer this installation, if it is not Plinth. Search themes that contain it are not suggested.',
    text,
  ),
  MODEL_URL: optional(
    'Base URL of the language model for agents, the builder chat, texts of ads and explanations of failed runs: any server with the OpenAI chat completions protocol, such as `https://api.openai.com/v1`. If unset, agents and `generateAssets` answer 503 `model_not_configured`, turns of the builder chat fail, and failed runs are not explained.',
    url('http:', 'https:'),
  ),
  MODEL_API_KEY: optional('API key for `MODEL_URL`, sent as a bearer token. If unset, none is sent.', text),
  MODEL_NAME: setting(
    'Model for the builder chat, texts of ads, explanations of failed runs, and agents that do not choose one.',
    'default',
    text,
  ),
  MODEL_STAND_IN: setting(
    'What a stand-in for a language model can be asked for, separated by semicolons: first the app, then changes of it. The console says that the model is a stand-in, and offers these requests. `npm run dev` sets it for the model of the sandbox.',
    '',
    (value) =>
      value
        .split(';')
        .map((request) => request.trim())
        .filter((request) => request !== ''),
  ),
  RUN_ANALYSIS: setting(
    'Whether failed runs of workflows are explained by the model: `on` or `off`. It is sent the definition, the error and the last steps of the run, without secrets.',
    'on',
    oneOf(['on', 'off']),
  ),
  CONSOLE: setting(
    'Whether the API serves the console, the web interface, if it is built: `on` or `off`. With `off`, a small page for signing in is at `/`.',
    'on',
    oneOf(['on', 'off']),
  ),
  OUTBOUND_ALLOW: setting(
    'Private addresses that webhooks may be sent to: a comma-separated list of ranges (`10.1.0.0/16`) and `host:port`, each prefixed with `http://` if plain HTTP is allowed. If empty, none. `npm run dev` adds loopback: docs/guides/receiving-webhooks.md#testing-locally.',
    '',
    parseAllowList,
  ),
  ALLOW_WORKSPACE_CREATION: setting(
    'Who may create workspaces: `operator` or `anyone`. Workspaces that others than operators create have the plan `free` and no monthly credits, until an operator sets a plan.',
    'operator',
    oneOf(['operator', 'anyone']),
  ),
  STAFF_EMAIL_DOMAINS: setting(
    "Comma-separated list of e-mail domains of your own staff. Active guests with such an address are not listed among a workspace's members.",
    '',
    (value) => commaList(value.toLowerCase()),
  ),
};
