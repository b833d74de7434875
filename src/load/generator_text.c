#include "load/generator_text.h"

#include <stdio.h>
#include <string.h>

/* Each ## becomes two digits. */
static const char *const patterns[TEXT_TEMPLATES] = {
    "sshd[##1##]: Accepted publickey for deploy from 10.2##.1##.2## port 5##2# ssh2: RSA "
    "SHA256:##ab##e7",
    "kernel: [##34##.##5##] eth0: link up, 1000 Mbps, full duplex, lpa 0x##E1",
    "nginx: 10.1##.2##.1## \"GET /api/v2/orders/##9## HTTP/1.1\" 200 ##4# rt=0.0## uct=0.0##",
    "systemd[1]: session-##1##.scope: Deactivated successfully, consumed ##.##s CPU time.",
    "postfix/smtpd[##3##]: connect from mail-##1.example.com[192.168.1##.2##], TLSv1.3 ##6 bits",
    "CRON[##0##]: (root) CMD (/usr/local/bin/rotate --keep ## --max-size ##M /var/log/app-##)",
    "app[##7##]: level=info msg=\"request completed\" status=200 duration_ms=##.## user_id=##8##",
    "app[##2##]: level=warn msg=\"retrying upstream call\" attempt=## backoff_ms=1## shard=s##-1##",
    "haproxy[##5##]: backend app/web-## 10.0.##.1##: ##/0/1/##/4# 200 2##1 - - ---- ##/##/1/0/0",
    "sensor gateway: line ## station ## torque 1##.## Nm angle 2##.# deg cycle ##41## result OK",
    "sensor gateway: line ## station ## temperature ##.## C pressure 1.## bar batch B##-##77",
    "dhcpd[##8##]: DHCPACK on 10.4##.1##.## to 3c:##:5a:##:7f:## via eth1.##",
    "auditd[##4##]: type=USER_LOGIN msg=audit(17##3##.##4:##): pid=##12 uid=0 res=success",
    "dockerd: time=\"2024-0#-1#T##:##:##.##Z\" level=info msg=\"ignoring event\" "
    "container=##c4##f9",
    "plc[##1##]: program P##-2## step ## done in ##4 us, queue depth ##, watchdog 0x##A##F",
    "smartd[##6##]: Device: /dev/sd##, SMART usage attribute: 194 Temperature changed from 1## to "
    "1##",
};

static void compile_template(struct text_template *template, const char *pattern)
{
    memset(template, 0, sizeof *template);
    template->length = (uint32_t)snprintf(template->bytes, sizeof template->bytes, "%s", pattern);
    for (uint32_t i = 0; i < template->length; i++) {
        if (template->bytes[i] != '#') {
            continue;
        }
        template->bytes[i] = '4';
        if (template->bytes[i + 1] == '#' && template->pair_count < TEXT_PAIRS_MAX) {
            template->pairs[template->pair_count++] = (uint8_t)i;
            template->bytes[i + 1] = '2';
        }
    }
}

void text_source_init(struct text_source *source)
{
    static const char *const roles[] = {"web", "app", "db", "cache", "mq", "edge", "plc", "gw"};
    static const char *const sites[] = {"seoul-1", "busan-2", "fra-1", "iad-3"};
    for (size_t i = 0; i < TEXT_TEMPLATES; i++) {
        compile_template(&source->templates[i], patterns[i]);
    }
    for (unsigned i = 0; i < TEXT_HOSTS; i++) {
        const int length = snprintf(source->hosts[i], TEXT_HOST_BYTES, "%s-%03u.%s.example.net",
                                    roles[i % 8], i / 8 % 16 + 1, sites[i / 128]);
        source->host_lengths[i] = (uint8_t)length;
    }
    for (unsigned i = 0; i < 100; i++) {
        source->digits[2 * i] = (char)('0' + i / 10);
        source->digits[2 * i + 1] = (char)('0' + i % 10);
    }
}

uint32_t text_write_message(const struct text_source *source, uint64_t hash, char *out)
{
    const struct text_template *template = &source->templates[hash % TEXT_TEMPLATES];
    memcpy(out, template->bytes, TEXT_MESSAGE_BYTES);
    /* each pair takes the next two decimal digits of a fraction in 0 … 1 */
    uint64_t fraction = hash >> 8;
    for (uint32_t i = 0; i < template->pair_count; i++) {
        fraction = (fraction & ((UINT64_C(1) << 56) - 1)) * 100;
        memcpy(out + template->pairs[i], source->digits + 2 * (fraction >> 56), 2);
    }
    return template->length;
}
