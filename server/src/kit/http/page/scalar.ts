// Reads Scalar's script, which renders an OpenAPI document as a page. Scalar's Fastify package only serves the
// script through its plugin, and installing the package that contains just the script takes 270 MB.
import Fastify from 'fastify';

export async function readScalarScript(): Promise<Buffer> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const server = Fastify();
  try {
    await server.register(scalar, { routePrefix: '/docs', configuration: { url: '/openapi.json' } });
    return (await server.inject('/docs/js/scalar.js')).rawPayload;
  } finally {
    await server.close();
  }
}
