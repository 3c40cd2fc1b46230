// Labelled failures of calls to external services.
import { type FailureCase, http } from './failure-case.ts';

const answered = (status: number, label: FailureCase['label'], name: string): FailureCase => ({
  name: `${name} (${status})`,
  label,
  do: http(`{receiver}/status/${status}`),
});

const retried = (status: number) => [
  {
    attempt: {
      try: http(`{receiver}/status/${status}`),
      catch: {
        errors: { with: { type: 'communication' } },
        retry: { delay: { milliseconds: 10 }, limit: { attempt: { count: 2 } } },
      },
    },
  },
];

export const serviceFailures: readonly FailureCase[] = [
  answered(401, 'authentication', 'the service does not accept the API key'),
  answered(407, 'authentication', 'a proxy wants us to sign in'),
  answered(403, 'authorization', 'the key may not do this'),
  answered(404, 'not_found', 'there is nothing at this address'),
  answered(410, 'not_found', 'what was at this address is gone'),
  answered(429, 'rate_limit', 'too many requests'),
  answered(400, 'bad_request', 'the service does not understand the request'),
  answered(402, 'bad_request', 'the service wants to be paid'),
  answered(405, 'bad_request', 'the method is not allowed there'),
  answered(409, 'bad_request', 'the request conflicts with what the service has'),
  answered(413, 'bad_request', 'the service finds the body too large'),
  answered(415, 'bad_request', 'the service does not take this content type'),
  answered(422, 'bad_request', 'the service rejects the content of the body'),
  answered(301, 'bad_request', 'the service has moved, and redirects are not followed'),
  answered(500, 'server_error', 'the service breaks'),
  answered(502, 'server_error', 'the proxy before the service gets no sensible answer'),
  answered(503, 'server_error', 'the service is down for maintenance'),
  answered(520, 'server_error', 'a status of a content delivery network'),
  answered(408, 'timeout', 'the service waited too long for us'),
  answered(504, 'timeout', 'the proxy before the service waited too long'),
  {
    name: 'a token that has expired, sent as a header',
    label: 'authentication',
    do: http('{receiver}/needs-token', { headers: { authorization: 'Bearer expired-0815' } }),
  },
  {
    name: 'a page in HTML that says Forbidden',
    label: 'authorization',
    do: http('{receiver}/forbidden-page'),
  },
  {
    name: 'the address is put together from a field that does not exist',
    label: 'not_found',
    do: http('${ "{receiver}/status/404/orders/" + (.order.id | tostring) }'),
    input: { order: {} },
  },
  { name: 'the service still limits us after two retries', label: 'rate_limit', do: retried(429) },
  { name: 'the service is still broken after two retries', label: 'server_error', do: retried(503) },
  {
    name: 'an error that is caught, and whose handler then fails differently',
    label: 'authentication',
    do: [
      {
        attempt: {
          try: http('{receiver}/status/500'),
          catch: { errors: { with: { type: 'communication' } }, do: http('{receiver}/status/401') },
        },
      },
    ],
  },
  {
    name: 'only errors of another type are caught',
    label: 'authorization',
    do: [{ attempt: { try: http('{receiver}/status/403'), catch: { errors: { with: { type: 'timeout' } } } } }],
  },
  {
    name: 'a service that answers 400 to a wrong API key',
    label: 'authentication',
    do: http('{receiver}/invalid-key'),
  },
  { name: 'a sign-in that answers 400 invalid_grant', label: 'authentication', do: http('{receiver}/invalid-grant') },
  { name: 'a service that limits requests with 403', label: 'rate_limit', do: http('{receiver}/secondary-limit') },
  { name: 'a storage that limits requests with 503', label: 'rate_limit', do: http('{receiver}/slow-down') },
  { name: 'a proxy that hides a timeout behind 500', label: 'timeout', do: http('{receiver}/upstream-timeout') },
  {
    name: 'a page to sign in, with the status 200, where data was expected',
    label: 'authentication',
    do: [...http('{receiver}/sign-in-page'), { read: { set: { id: '${ .order.id }' } } }],
  },
  { name: 'nobody listens at the port', label: 'network', do: http('{closed}/') },
  { name: 'the connection is closed without an answer', label: 'network', do: http('{receiver}/hang-up') },
  { name: 'the connection breaks in the middle of the answer', label: 'network', do: http('{receiver}/break') },
  { name: 'the answer is not HTTP', label: 'network', do: http('{receiver}/garbage') },
  {
    name: 'the connection breaks while we post, also the second time',
    label: 'network',
    do: [
      {
        attempt: {
          try: http('{receiver}/hang-up', { method: 'post', body: { a: 1 } }),
          catch: { retry: { delay: { milliseconds: 10 }, limit: { attempt: { count: 1 } } } },
        },
      },
    ],
  },
  { name: 'the host does not exist', label: 'dns', do: http('https://no-such-host.test/orders') },
  { name: 'the name server of the host fails', label: 'dns', do: http('https://servfail.test/orders') },
  { name: 'the name server of the host says nothing', label: 'dns', do: http('https://silent.test/orders') },
  {
    name: 'the name of the host is misspelt in an expression',
    label: 'dns',
    do: http('${ "https://" + .host + "/x" }'),
    input: { host: 'api.exmaple.test' },
  },
  { name: 'nobody vouches for the certificate', label: 'tls', do: http('{untrusted}/') },
  { name: 'the certificate is for another name', label: 'tls', do: http('{misnamed}/') },
  { name: 'there is no TLS at the port', label: 'tls', do: http('{plain}/') },
  {
    name: 'the service does not answer in a second',
    label: 'timeout',
    do: http('{receiver}/hang', {}, { timeout: { after: { seconds: 1 } } }),
  },
  {
    name: 'the answer arrives letter by letter, too slowly',
    label: 'timeout',
    do: http('{receiver}/trickle', {}, { timeout: { after: { seconds: 1 } } }),
  },
  {
    name: 'a group of calls takes too long together',
    label: 'timeout',
    do: [{ group: { do: http('{receiver}/hang'), timeout: { after: { milliseconds: 800 } } } }],
  },
  {
    name: 'each retry takes too long too',
    label: 'timeout',
    do: [
      {
        attempt: {
          try: http('{receiver}/hang', {}, { timeout: { after: { milliseconds: 300 } } }),
          catch: {
            errors: { with: { type: 'timeout' } },
            retry: { delay: { milliseconds: 10 }, limit: { attempt: { count: 1 } } },
          },
        },
      },
    ],
  },
  {
    name: 'the agent does not exist',
    label: 'not_found',
    do: [
      { ask: { call: 'agent.send', with: { agent_id: '${ "0197aaaa-0000-7000-8000-000000000000" }', content: 'Hi' } } },
    ],
  },
  {
    name: 'the app is not connected to the service',
    label: 'not_found',
    do: [{ ask: { call: 'connector.request', with: { integration_type: 'slack', method: 'get', path: '/me' } } }],
  },
  {
    name: 'the connection to the service has expired',
    label: 'authentication',
    do: [{ ask: { call: 'connector.request', with: { integration_type: 'github', method: 'get', path: '/user' } } }],
  },
  {
    name: 'the language model behind the agent is down',
    label: 'server_error',
    do: [{ ask: { call: 'agent.send', with: { agent_id: '{agent}', content: 'Hi' } } }],
  },
];
