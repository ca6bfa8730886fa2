"""Python's redis as a subscriber and as a publisher.

redis_py_client.py subscribe <address> <channel>            one line for each message, until `quit`
redis_py_client.py publish <address> <channel> <message>    the number of receivers

The address is JSON: what `redis.Redis` is made with.
"""

import json
import sys
import time

import redis


def subscribe(client, channel):
    subscriptions = client.pubsub(ignore_subscribe_messages=True)
    subscriptions.subscribe(channel)
    give_up = time.monotonic() + 20
    while time.monotonic() < give_up:
        try:
            message = subscriptions.get_message(timeout=1)
        except redis.ConnectionError:
            # The next call connects and subscribes again.
            time.sleep(0.02)
            continue
        if message is None:
            continue
        text = message["data"].decode("latin-1")
        print(message["type"], text, flush=True)
        if text == "quit":
            return
    sys.exit("no message came")


def main():
    action, address, channel, *message = sys.argv[1:]
    client = redis.Redis(**json.loads(address))
    if action == "subscribe":
        subscribe(client, channel)
    else:
        print(client.publish(channel, message[0]))


main()
