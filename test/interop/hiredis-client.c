/*
 * hiredis as a subscriber and as a publisher.
 *
 *   hiredis-client subscribe tcp|unix <port|path> <channel>     one line for each message, until `quit`
 *   hiredis-client publish tcp|unix <port|path> <channel> <message>     the number of receivers
 */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static redisContext *open_context(const char *way, const char *address) {
    redisContext *context = strcmp(way, "unix") == 0 ? redisConnectUnix(address) : redisConnect("127.0.0.1", atoi(address));
    if (context == NULL || context->err) fail("cannot connect");
    return context;
}

static int subscribe_again(redisContext *context, const char *channel) {
    redisReply *reply = redisCommand(context, "SUBSCRIBE %s", channel);
    if (reply == NULL) return 0;
    int is_confirmed = reply->type == REDIS_REPLY_ARRAY && reply->elements == 3;
    freeReplyObject(reply);
    return is_confirmed;
}

static int is_last(redisReply *reply) {
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 3) fail("not a message");
    printf("%s %s\n", reply->element[0]->str, reply->element[2]->str);
    fflush(stdout);
    return strcmp(reply->element[2]->str, "quit") == 0;
}

static void subscribe(redisContext *context, const char *channel) {
    if (!subscribe_again(context, channel)) fail("cannot subscribe");
    for (int attempts = 0; attempts < 500;) {
        void *reply = NULL;
        if (redisGetReply(context, &reply) == REDIS_OK) {
            int last = is_last(reply);
            freeReplyObject(reply);
            if (last) return;
            continue;
        }
        attempts++;
        usleep(20000);
        if (redisReconnect(context) == REDIS_OK) subscribe_again(context, channel);
    }
    fail("the server did not come back");
}

static void publish(redisContext *context, const char *channel, const char *message) {
    redisReply *reply = redisCommand(context, "PUBLISH %s %b", channel, message, strlen(message));
    if (reply == NULL || reply->type != REDIS_REPLY_INTEGER) fail("cannot publish");
    printf("%lld\n", reply->integer);
    freeReplyObject(reply);
}

int main(int argc, char **argv) {
    if (argc < 5) fail("too few arguments");
    redisContext *context = open_context(argv[2], argv[3]);
    if (strcmp(argv[1], "subscribe") == 0) subscribe(context, argv[4]);
    else if (argc == 6) publish(context, argv[4], argv[5]);
    else fail("too few arguments");
    redisFree(context);
    return 0;
}
