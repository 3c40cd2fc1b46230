// Owns reading the private key of the operator's App from a setting.
import { createPrivateKey } from 'node:crypto';

/** A PEM file of an RSA key: as it is, with `\n` instead of line ends, or in base64. Returns it as PEM; throws with what is wrong. */
export function parsePrivateKey(text: string): string {
  const isPem = text.includes('-----BEGIN');
  const pem = isPem ? text.replaceAll('\\n', '\n') : Buffer.from(text, 'base64').toString('utf8');
  try {
    if (createPrivateKey(pem).asymmetricKeyType === 'rsa') return pem;
  } catch {
    // said below; the error of the library may contain parts of the key
  }
  throw new Error('must be the PEM file of an RSA key, also in base64');
}
