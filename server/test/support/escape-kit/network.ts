// Attempts to reach a target over a network or a socket.
import { type Attempt, python, syscall } from './attempt.ts';

const connect = (family: string, address: string): string =>
  python(`import socket
s = socket.socket(socket.${family}, socket.SOCK_STREAM)
s.settimeout(2)
s.connect(${address})
s.send(b'escaped')`);

export const network: readonly Attempt[] = [
  {
    name: 'connects over loopback',
    script: connect('AF_INET', "('127.0.0.1', int(os.environ['PORT']))"),
    succeedsOutside: true,
  },
  {
    name: 'connects over IPv6',
    script: connect('AF_INET6', "('::1', int(os.environ['PORT']))"),
    succeedsOutside: true,
  },
  {
    name: 'connects to every address of the machine',
    script: python(`import socket
for address in os.environ['ADDRESSES'].split():
    s = socket.socket(); s.settimeout(0.3)
    try: s.connect((address, int(os.environ['PORT']))); s.send(b'escaped')
    except OSError as error: print(error)`),
    succeedsOutside: true,
  },
  { name: 'asks with curl', script: 'curl -s -m 2 "http://127.0.0.1:$PORT/"; curl -s -m 2 "http://localhost:$PORT/"' },
  {
    name: 'sends a datagram',
    script: python(`import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'escaped', ('127.0.0.1', int(os.environ['PORT'])))`),
    succeedsOutside: true,
  },
  { name: 'asks a name server', script: 'getent hosts example.com; cat /etc/resolv.conf' },
  {
    name: 'connects to a socket by its path',
    script: connect('AF_UNIX', "os.environ['SOCKET']"),
    succeedsOutside: true,
  },
  {
    name: 'connects to an abstract socket',
    script: connect('AF_UNIX', "'\\0' + os.environ['ABSTRACT']"),
    succeedsOutside: true,
  },
  {
    name: 'writes to Redis',
    script: python(`import socket
s = socket.socket(); s.settimeout(2)
s.connect(('127.0.0.1', int(os.environ['REDIS_PORT'])))
s.send(b'SET ' + os.environ['REDIS_KEY'].encode() + b' escaped\\r\\n'); print(s.recv(99))`),
    succeedsOutside: true,
  },
  {
    name: 'creates a role in PostgreSQL',
    script: '"$PSQL" -h 127.0.0.1 -p "$DATABASE_PORT" -U postgres -d postgres -c "create role $DATABASE_ROLE"',
    succeedsOutside: true,
  },
  {
    name: 'opens a raw socket',
    script: python(`import socket
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP); s.sendto(b'escaped', ('127.0.0.1', 0))`),
  },
  { name: 'opens a packet socket', script: python('import socket\nsocket.socket(17, socket.SOCK_RAW, 3)') },
  {
    name: 'reaches the hypervisor',
    script: python('import socket\ns = socket.socket(40, socket.SOCK_STREAM); s.settimeout(1); s.connect((2, 1024))'),
  },
  {
    name: 'changes network interfaces',
    script: 'ip link add canary0 type dummy; ip link set lo down; ip route add default via 127.0.0.1',
  },
  { name: 'enters the network of the machine', script: syscall(308, 268, "os.open('/proc/1/ns/net', 0), 0x40000000") },
  {
    name: 'listens where others could connect',
    script: 'timeout 1 /usr/bin/python3 -m http.server "$FREE_PORT" >server.log 2>&1 & sleep 0.5; wait',
  },
];
