/* fanbench: one epoll thread that loads a pub/sub server over loopback and counts deliveries.
 *
 *   cc -O2 -o fanbench fanbench.c
 *   fanbench --proto resp2|resp3|ws|sse|http|uws|natsws --port P [--pid SERVER_PID] --subs N [--channels C]
 *            [--each K] [--own 0|1] [--settle S] [--pattern K] [--payload B] [--pipeline D] [--publishers N] [--messages M] [--rate R --seconds S] [--path /ws] [--token T]
 *
 * Throughput mode (default): each of N publishers (one) keeps D PUBLISH commands in flight until M were acknowledged in all
 * (protocols without acknowledgement: until the bytes were written, paced by deliveries), and the run ends when
 * every delivery arrived. Rate mode (--rate): R messages a second for S seconds, latency percentiles.
 * A delivery is counted by the mark "~#~#", which every payload holds exactly once, wherever reads cut it: framing does not
 * matter, and no length byte can pass for it. Replies to PUBLISH are counted by their line ends.
 * With --each every subscriber takes K channels instead of one, the same as the others or (--own 1) K of its own: for memory.
 * With --settle it waits S seconds before each look at the server's memory, so that a collector of garbage comes to its turn.
 * With sse subscribers are streams of events, and publishers WebSockets; with http publishers send requests over one connection each.
 * With --pid it also reads the server's CPU time (user+system) and peak memory: the figure that noise on a shared machine moves least.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum proto { RESP2, RESP3, WS, UWS, NATSWS, HTTP };
static enum proto P = RESP2;
static int port = 6379, nsubs = 50, nchan = 1, payload = 32, depth = 16, npat = 0, npub = 1, each = 0, own = 0, settle = 0;
static long messages = 100000;
static double rate = 0, seconds = 5;
static int serverpid = 0, events = 0;
static const char *path = "/ws", *token = NULL, *subproto = "resp3", *host = "127.0.0.1";

static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static uint64_t nowns(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (uint64_t)t.tv_sec * 1000000000ull + t.tv_nsec; }
static void die(const char *m) { perror(m); exit(2); }

/* CPU seconds of a process so far, to the nanosecond: /proc counts in ticks of 10 ms, 5 % of a short run. */
static double cpu_of(int pid) {
  clockid_t clock; struct timespec t;
  if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t)) return 0;
  return t.tv_sec + t.tv_nsec * 1e-9;
}
static long rss_of(int pid, const char *key) {
  char p[64], l[256]; snprintf(p, sizeof p, "/proc/%d/status", pid);
  FILE *f = fopen(p, "r"); long v = 0; if (!f) return 0;
  while (fgets(l, sizeof l, f)) if (!strncmp(l, key, strlen(key))) sscanf(l + strlen(key), ": %ld", &v);
  fclose(f); return v;
}

static int dial(void) {
  static int k = 0;
  int fd = socket(AF_INET, SOCK_STREAM, 0); if (fd < 0) die("socket");
  int one = 1; setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  /* source addresses of its own, spread: more than 28k connections, and none that waits in TIME_WAIT after another run */
  int late = 1; setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &late, sizeof late);
  struct sockaddr_in src = { .sin_family = AF_INET };
  char ip[32]; snprintf(ip, sizeof ip, "127.0.%d.%d", getpid() % 250, 1 + (k++ / 20000)); inet_pton(AF_INET, ip, &src.sin_addr);
  bind(fd, (void *)&src, sizeof src);
  struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) }; inet_pton(AF_INET, host, &a.sin_addr);
  if (connect(fd, (void *)&a, sizeof a) < 0) die("connect");
  return fd;
}
static void sendall(int fd, const char *b, size_t n) { while (n) { ssize_t w = write(fd, b, n); if (w < 0) { if (errno == EAGAIN) continue; die("write"); } b += w; n -= w; } }

/* masked client frame; mask key zero keeps the payload readable and is legal on the wire */
static size_t wsframe(char *out, int opcode, const char *b, size_t n) {
  size_t h = 0; out[h++] = (char)(0x80 | opcode);
  if (n < 126) out[h++] = (char)(0x80 | n);
  else if (n < 65536) { out[h++] = (char)(0x80 | 126); out[h++] = n >> 8; out[h++] = n; }
  else { out[h++] = (char)(0x80 | 127); for (int i = 7; i >= 0; i--) out[h++] = (char)((uint64_t)n >> (8 * i)); }
  memset(out + h, 0, 4); h += 4; memcpy(out + h, b, n); return h + n;
}
static size_t command(char *out, int argc, const char **argv, const size_t *len) {
  char *b = out; if (P == WS) b = out + 16;
  size_t n = sprintf(b, "*%d\r\n", argc);
  for (int i = 0; i < argc; i++) { n += sprintf(b + n, "$%zu\r\n", len[i]); memcpy(b + n, argv[i], len[i]); n += len[i]; b[n++] = '\r'; b[n++] = '\n'; }
  if (P == WS) { char *t = malloc(n); memcpy(t, b, n); n = wsframe(out, 2, t, n); free(t); }
  return n;
}
static void rxuntil(int fd, const char *needle, char *buf, size_t cap) {
  size_t n = 0; while (n < cap - 1) { ssize_t r = read(fd, buf + n, cap - 1 - n); if (r <= 0) die("read during set-up"); n += r; buf[n] = 0;
    if (memmem(buf, n, needle, strlen(needle))) return; }
}
static void handshake(int fd) {
  char b[8192]; int n = sprintf(b, "GET %s HTTP/1.1\r\nHost: localhost:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n", path, port);
  if (P == WS) n += sprintf(b + n, "Sec-WebSocket-Protocol: %s\r\n", subproto);
  if (token) n += sprintf(b + n, "Authorization: Bearer %s\r\n", token);
  n += sprintf(b + n, "\r\n"); sendall(fd, b, n);
  rxuntil(fd, "\r\n\r\n", b, sizeof b);
  if (!strstr(b, " 101 ")) { fprintf(stderr, "no upgrade: %s\n", b); exit(2); }
  if (P == NATSWS) { char f[512]; const char *c = "CONNECT {\"verbose\":false,\"pedantic\":false,\"echo\":true}\r\n"; size_t k = wsframe(f, 2, c, strlen(c)); sendall(fd, f, k); }
}
static void subscribe(int fd, const char *chan, int pat) {
  char b[4096], r[16384]; size_t n = 0;
  if (events) { n = sprintf(b, "GET /events?%s=%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", pat ? "pattern" : "channel", chan, token ? token : ""); sendall(fd, b, n); rxuntil(fd, "event: subscribed", r, sizeof r); return; }
  if (P == RESP2 || P == RESP3 || P == WS) {
    const char *a[2] = { pat ? "PSUBSCRIBE" : "SUBSCRIBE", chan }; size_t l[2] = { strlen(a[0]), strlen(chan) };
    n = command(b, 2, a, l); sendall(fd, b, n); rxuntil(fd, "subscribe", r, sizeof r);
  } else if (P == UWS) { char t[256]; int k = sprintf(t, "S %s", chan); n = wsframe(b, 1, t, k); sendall(fd, b, n); }
  else { char t[256]; int k = sprintf(t, "SUB %s 1\r\nPING\r\n", chan); n = wsframe(b, 2, t, k); sendall(fd, b, n); rxuntil(fd, "PONG", r, sizeof r); }
}
/* K channels, 500 in a command */
static void subscribe_each(int fd, int who) {
  char *b = malloc(1 << 16), r[1 << 16];
  for (int from = 0; from < each; from += 500) {
    int to = from + 500 < each ? from + 500 : each; char names[500][32]; const char *a[501] = { "SUBSCRIBE" }; size_t l[501] = { 9 };
    for (int i = from; i < to; i++) { l[i - from + 1] = own ? sprintf(names[i - from], "bench:%d", who * each + i) : sprintf(names[i - from], "bench:%d", i); a[i - from + 1] = names[i - from]; }
    size_t n = command(b, to - from + 1, a, l); sendall(fd, b, n);
    const char *p[1] = { "PING" }; size_t pl[1] = { 4 }; n = command(b, 1, p, pl); sendall(fd, b, n);
    size_t k = 0; for (;;) { ssize_t x = read(fd, r + k, sizeof r - 1 - k); if (x <= 0) die("read during set-up"); k += x; r[k] = 0;
      if (k >= 4 && (memmem(r, k, "PONG", 4) || memmem(r, k, "pong", 4))) break;
      if (k > 64) { memmove(r, r + k - 8, 8); k = 8; } }
  }
  free(b);
}
struct publisher { int fd; uint64_t sent, ack; char *obuf; size_t olen, ooff; };
static int cmpd(const void *a, const void *b) { double x = *(double *)a, y = *(double *)b; return x < y ? -1 : x > y; }

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    const char *k = argv[i], *v = i + 1 < argc ? argv[i + 1] : ""; i++;
    if (!strcmp(k, "--proto")) P = !strcmp(v, "resp3") ? RESP3 : !strcmp(v, "ws") ? WS : !strcmp(v, "sse") ? (events = 1, WS) : !strcmp(v, "http") ? HTTP : !strcmp(v, "uws") ? UWS : !strcmp(v, "natsws") ? NATSWS : RESP2;
    else if (!strcmp(k, "--port")) port = atoi(v); else if (!strcmp(k, "--host")) host = v; else if (!strcmp(k, "--subs")) nsubs = atoi(v); else if (!strcmp(k, "--channels")) nchan = atoi(v);
    else if (!strcmp(k, "--payload")) payload = atoi(v); else if (!strcmp(k, "--pipeline")) depth = atoi(v); else if (!strcmp(k, "--messages")) messages = atol(v);
    else if (!strcmp(k, "--rate")) rate = atof(v); else if (!strcmp(k, "--seconds")) seconds = atof(v); else if (!strcmp(k, "--pid")) serverpid = atoi(v);
    else if (!strcmp(k, "--path")) path = v; else if (!strcmp(k, "--token")) token = v; else if (!strcmp(k, "--subproto")) subproto = v; else if (!strcmp(k, "--pattern")) npat = atoi(v);
    else if (!strcmp(k, "--publishers")) npub = atoi(v); else if (!strcmp(k, "--each")) each = atoi(v); else if (!strcmp(k, "--own")) own = atoi(v); else if (!strcmp(k, "--settle")) settle = atoi(v);
    else { fprintf(stderr, "unknown %s\n", k); return 2; }
  }
  struct rlimit rl = { 1 << 20, 1 << 20 }; if (setrlimit(RLIMIT_NOFILE, &rl)) { getrlimit(RLIMIT_NOFILE, &rl); rl.rlim_cur = rl.rlim_max; setrlimit(RLIMIT_NOFILE, &rl); }
  if (payload < 24) payload = 24;
  int ep = epoll_create1(0); int *fds = calloc(nsubs, sizeof *fds); char chan[64];
  sleep(settle);
  long rss0 = serverpid ? rss_of(serverpid, "VmRSS") : 0; double tc = now();
  for (int i = 0; i < nsubs; i++) {
    fds[i] = dial(); if (!events && (P == WS || P == UWS || P == NATSWS)) handshake(fds[i]);
    if (P == RESP3) { char r[8192]; sendall(fds[i], "HELLO 3\r\n", 9); rxuntil(fds[i], "modules", r, sizeof r); }
    if (each) { subscribe_each(fds[i], i); continue; }
    snprintf(chan, sizeof chan, "bench.%d", i % nchan); subscribe(fds[i], chan, 0);
  }
  /* idle patterns that never match: what they cost a PUBLISH */
  if (npat) { int fd = dial(); if (P == WS && !events) handshake(fd); for (int i = 0; i < npat; i++) { char p[64]; snprintf(p, sizeof p, "idle.%d.*", i); subscribe(fd, p, 1); } }
  struct publisher *pubs = calloc(npub, sizeof *pubs);
  for (int i = 0; i < npub; i++) {
    pubs[i].fd = dial(); if (P == WS || P == UWS || P == NATSWS) handshake(pubs[i].fd);
    /* what a login pushes must not be taken for acknowledgements */
    if (P == WS) { char c[64], r[8192]; const char *a[1] = { "PING" }; size_t l[1] = { 4 }, n = command(c, 1, a, l); sendall(pubs[i].fd, c, n); rxuntil(pubs[i].fd, "PONG", r, sizeof r); }
  }
  double tconn = now() - tc; usleep(300000); sleep(settle); long rss1 = serverpid ? rss_of(serverpid, "VmRSS") : 0;
  for (int i = 0; i < nsubs; i++) { fcntl(fds[i], F_SETFL, O_NONBLOCK); struct epoll_event e = { .events = EPOLLIN, .data.u64 = i }; epoll_ctl(ep, EPOLL_CTL_ADD, fds[i], &e); }
  for (int i = 0; i < npub; i++) { fcntl(pubs[i].fd, F_SETFL, O_NONBLOCK); struct epoll_event e = { .events = EPOLLIN, .data.u64 = (uint64_t)nsubs + i }; epoll_ctl(ep, EPOLL_CTL_ADD, pubs[i].fd, &e); }

  int acked = P == RESP2 || P == RESP3 || P == WS || P == HTTP; size_t head = P == HTTP ? 2048 : 256;
  char *body = malloc(payload + 1); memset(body, 'x', payload); size_t cap = (size_t)(payload + head) * (npub > 1 ? depth + 16 : depth > 4096 ? depth : 4096); for (int i = 0; i < npub; i++) pubs[i].obuf = malloc(cap);
  size_t bufsz = 1 << 20; char *mem = malloc(bufsz + 4), *rb = mem + 3; char (*carry)[3] = calloc(nsubs + npub, 3);
  uint64_t sent = 0, ack = 0, recv = 0; double cpu0 = serverpid ? cpu_of(serverpid) : 0, t0 = now(), tend = 0;
  /* per message: how many subscribers its channel has */
  int *per = calloc(nchan, sizeof *per); for (int i = 0; i < nsubs && !each; i++) per[i % nchan]++;
  uint64_t expect = 0; double *lat = NULL; size_t nlat = 0, caplat = 0; int latmode = rate > 0;
  if (latmode) { messages = (long)(rate * seconds); caplat = 4000000; lat = malloc(caplat * sizeof *lat); }
  struct epoll_event ev[512]; double last = now();
  while (1) {
    double t = now();
    /* produce: the publishers in turn, each as far as its window allows */
    int unsent = 0, stuck = 0;
    for (int next = 0; sent < (uint64_t)messages && stuck < npub; next = (next + 1) % npub) {
      struct publisher *p = &pubs[next];
      int full = p->olen - p->ooff >= cap / 2;
      if (!full) {
        if (latmode) { if (t0 + sent / rate > t) break; }
        else if (acked) full = p->sent - p->ack >= (uint64_t)depth;
        else if ((int64_t)(expect - recv) >= (int64_t)depth * npub * (nsubs / nchan ? nsubs / nchan : 1)) break;
      }
      if (full) { stuck++; continue; }
      stuck = 0;
      int c = sent % nchan; snprintf(chan, sizeof chan, "bench.%d", c);
      char ts[24]; snprintf(ts, sizeof ts, "~#~#%016llx", (unsigned long long)nowns()); memcpy(body, ts, 20);
      if (p->ooff && p->ooff == p->olen) p->ooff = p->olen = 0;
      if (cap - p->olen < (size_t)payload + head) { memmove(p->obuf, p->obuf + p->ooff, p->olen - p->ooff); p->olen -= p->ooff; p->ooff = 0; }
      if (P == HTTP) p->olen += sprintf(p->obuf + p->olen, "POST /publish/%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%.*s", chan, token ? token : "", payload, payload, body);
      else if (acked) { const char *a[3] = { "PUBLISH", chan, body }; size_t l[3] = { 7, strlen(chan), payload }; p->olen += command(p->obuf + p->olen, 3, a, l); }
      else { char *tmp = malloc(payload + 128); int k = P == UWS ? sprintf(tmp, "P %s ", chan) : sprintf(tmp, "PUB %s %d\r\n", chan, payload); memcpy(tmp + k, body, payload); k += payload; if (P == NATSWS) { tmp[k++] = '\r'; tmp[k++] = '\n'; } p->olen += wsframe(p->obuf + p->olen, P == UWS ? 1 : 2, tmp, k); free(tmp); }
      sent++; p->sent++; expect += per[c];
    }
    for (int i = 0; i < npub; i++) { struct publisher *p = &pubs[i];
      if (p->olen == p->ooff) continue;
      ssize_t w = write(p->fd, p->obuf + p->ooff, p->olen - p->ooff); if (w > 0) p->ooff += w; else if (w < 0 && errno != EAGAIN) die("publish");
      if (p->ooff == p->olen) p->ooff = p->olen = 0; else unsent = 1; }
    if (sent == (uint64_t)messages && recv >= expect && (!acked || ack >= sent)) { tend = now(); break; }
    int timeout = (unsent || (latmode && sent < (uint64_t)messages)) ? 0 : 100;
    int n = epoll_wait(ep, ev, 512, timeout); t = now();
    if (n > 0) last = t; else if (t - last > 15) { fprintf(stderr, "stalled: sent %lu acked %lu expected %lu received %lu\n", sent, ack, expect, recv); tend = t; break; }
    for (int i = 0; i < n; i++) {
      int k = (int)ev[i].data.u64, fd = k >= nsubs ? pubs[k - nsubs].fd : fds[k];
      ssize_t r = read(fd, rb, bufsz); if (r < 0) { if (errno == EAGAIN) continue; die("read"); } if (r == 0) { fprintf(stderr, "closed by server after %lu deliveries\n", recv); exit(3); }
      /* the last three bytes of the read before stand in front of this one */
      memcpy(mem, carry[k], 3); char *e = rb + r; memcpy(carry[k], e - 3, 3);
      if (k >= nsubs) { if (P == HTTP) { uint64_t done = 0; for (char *q = mem; (q = memmem(q, e - q, "{\"re", 4)); q += 4) done++; ack += done; pubs[k - nsubs].ack += done; } else if (acked) { char prev = mem[2]; uint64_t lines = 0; for (char *q = rb; q < e; prev = *q++) lines += *q == '\n' && prev == '\r'; ack += lines; pubs[k - nsubs].ack += lines; } continue; }
      uint64_t c = 0, tn = latmode ? nowns() : 0; char *q = mem;
      while ((q = memmem(q, e - q, "~#~#", 4))) { c++; q += 4; if (latmode && e - q >= 16 && nlat < caplat) { char h[17]; memcpy(h, q, 16); h[16] = 0; lat[nlat++] = (tn - strtoull(h, NULL, 16)) / 1e3; } }
      recv += c;
    }
  }
  double el = tend - t0, cpu = serverpid ? cpu_of(serverpid) - cpu0 : 0;
  printf("{\"proto\":%d,\"subs\":%d,\"channels\":%d,\"payload\":%d,\"pipeline\":%d,\"publishers\":%d,\"published\":%lu,\"deliveries\":%lu,\"seconds\":%.3f,\"publishes_per_s\":%.0f,\"deliveries_per_s\":%.0f,\"connect_s\":%.3f", P, nsubs, nchan, payload, depth, npub, sent, recv, el, sent / el, recv / el, tconn);
  if (serverpid) printf(",\"server_cpu_s\":%.4f,\"deliveries_per_cpu_s\":%.0f,\"rss_kb_before\":%ld,\"rss_kb_connected\":%ld,\"rss_kb_peak\":%ld,\"kb_per_connection\":%.2f,\"bytes_per_subscription\":%.0f", cpu, cpu > 0 ? recv / cpu : 0, rss0, rss1, rss_of(serverpid, "VmHWM"), nsubs ? (double)(rss1 - rss0) / nsubs : 0, each ? 1024.0 * (rss1 - rss0) / ((double)nsubs * each) : 0);
  if (nlat) { qsort(lat, nlat, sizeof *lat, cmpd); printf(",\"latency_us\":{\"p50\":%.0f,\"p99\":%.0f,\"p999\":%.0f,\"max\":%.0f,\"n\":%zu}", lat[nlat / 2], lat[(size_t)(nlat * .99)], lat[(size_t)(nlat * .999)], lat[nlat - 1], nlat); }
  printf("}\n"); return recv == expect ? 0 : 4;
}
