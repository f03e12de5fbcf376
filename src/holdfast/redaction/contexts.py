"""Patterns for secrets that are recognised by context: arguments of calls and commands, SQL, configuration files.

The group of each is masked if its text looks like a password that a person chose: letters with digits or signs.
"""

from __future__ import annotations

from holdfast.redaction.classifiers import NAMED, TAIL

QUOTE = r"\\*[\"']"
# A part of each secret name, and the rest of the name.
NAMELY = r"(?i:pass|pwd|kennwort|contrase|senha|secret|token|key|credential|psk|pw)[A-Za-z0-9_\xc3\xb1-]*"
OPEN = rf"[bBnNuUrR@]?{QUOTE}"  # an opening quote, with a string prefix as in Python, SQL or C#
TEXT = r"([^\s\"'\\]{5,})"
NAME = rf"[A-Za-z0-9_.-]*(?:{NAMED}){TAIL}"
WORD = r"[^\s\"'\\]"
BARE = r"[^\s\"'`,;&<>(){}\[\]$\\]"
ARGUMENT = rf"\s*(?:{OPEN}[^\"'\n]*{QUOTE}|[A-Za-z0-9_.$\[\]()-]+)\s*,"
PGPASS = r"[A-Za-z0-9_.*-]+:(?:[0-9]{1,5}|\*):[A-Za-z0-9_.*-]+:"  # host, port and database
PASS = r"(?:pass(?:word|wd|phrase|code|wort)?|pwd|pswd|psw|pw|mdp|psk)"

# Calls that take a user and a password, or a name and a key.
LOGINS = (
    r"(?:(?:mysql_)?connect|connection|login|log_in|sign_?in|auth|basic_?auth|create_?user|create_superuser|get_?connection|mysqli"
    r"|pdo|(?:network|ps|usernamepassword)?credentials?|usernamepasswordauthenticationtoken|passwordauthentication"
    r"|oauth1?(?:handler|session)?|client|algoliasearch|begin|authenticate|with_?basic_?auth)"
)
SECOND = r"(?:jwt\.(?:sign|encode|verify|decode)|create_?hmac|hash_hmac|openssl_encrypt|createcipheriv|algoliasearch)"
FIRST = r"(?:hmac\.new|cookieparser|secretkeyspec|aes\.new|fernet|securestring|convertto-securestring|basicauth)"

# Hints and patterns: those of CHOSEN mask a value of letters and digits; those of ODD need `is_odd_choice`.
CHOSEN = (
    (rf"{NAMELY}\(", rf"(?i){NAME}\(\s*(?:[A-Za-z_.]+\(\)?\.?[A-Za-z_]*\(?)?{OPEN}{TEXT}{QUOTE}"),
    (rf"(?i){LOGINS}\(", rf"(?i)\b{LOGINS}\({ARGUMENT}\s*{OPEN}{TEXT}{QUOTE}\s*\)"),
    (rf"(?i){LOGINS}\(", rf"(?i)\b{LOGINS}\((?:{ARGUMENT}){{2}}\s*{OPEN}{TEXT}{QUOTE}"),
    (r"(?i)auth\s*=\s*\(", rf"(?i)\bauth\s*=\s*\(\s*{OPEN}[^\"'\n]+{QUOTE}\s*,\s*{OPEN}{TEXT}{QUOTE}"),
    (rf"(?i){SECOND}\(", rf"(?i)\b{SECOND}\({ARGUMENT}\s*{OPEN}{TEXT}{QUOTE}"),
    (rf"(?i){FIRST}[( ]",
     rf"(?i)\b{FIRST}[( ]\s*{OPEN}([^\"'\\\n]{{8,}}){QUOTE}"),
    (rf"(?i){NAMELY}[\"'\\\])]*\s*(?:==|!=|\.equals|,\s*with|\seq)",
     rf"(?i){NAME}(?:{QUOTE})?[\])]{{0,2}}\s*(?:===?|!==?|\.equals\(|,\s*with:|\seq\s)\s*{OPEN}{TEXT}{QUOTE}"),
    (r"(?i)(?:type|fill|value|keys)\(",
     rf"(?i)password[^\n]*?\b(?:type|fill|set_?value|send_?keys)\([^\n\"']*{OPEN}{TEXT}{QUOTE}"),
    ("(?i)userpwd", rf"(?i)userpwd\b[^\n\"']*{OPEN}[^\s:\"'\\]+:{TEXT}{QUOTE}"),
    (rf"(?i){PASS}(?:{QUOTE})?\s*[:=]",
     rf"(?i)(?:\b|[_$-]){PASS}(?:{QUOTE})?\s*(?:=>|:=|=|:)\s*{OPEN}{TEXT}{QUOTE}"),
    (rf"{NAMELY}[ \t]+{OPEN}", rf"(?i){NAME}[ \t]+{OPEN}{TEXT}{QUOTE}"),
    (rf"(?i)set\s+[a-z_.]*{PASS}\s*=", rf"(?i)\bset\s+[a-z_.]*{PASS}\s*=\s*[a-z0-9_]+\(\s*{OPEN}{TEXT}{QUOTE}"),
    (r"(?i)(?:password|md5|sha[12]|crypt)\(",
     rf"(?i)\b(?:password|old_password|md5|sha1|sha2|crypt)\(\s*{OPEN}{TEXT}{QUOTE}"),
    (r"(?i)-[a-z]+pass", rf"(?i)-(?:store|key|trust|dest|src)[a-z]*pass(?:word)?[ =](?:{QUOTE})?({WORD}{{4,}})"),
    (r":(?:[0-9]{1,5}|\*):", rf"(?m)^{PGPASS}[A-Za-z0-9_.*-]+:([^\s:\"'\\]{{6,}})$"),
    (r"(?i)credentials?:?\s", rf"(?i)\bcredentials?:?\s+[A-Za-z0-9_.-]+[/:]({WORD}{{6,}})"),
)  # fmt: skip
ODD = (
    (r"(?i)pass[a-z]+\s+(?:is|was|ist|war)",
     rf"(?i)\bpass(?:word|phrase|wort)\s+(?:is|was|ist|war)[ :]+({BARE}{{6,}})"),
    (r"(?i)(?:password|passphrase|psk)[ ]", rf"(?i)\b(?:password|passphrase|psk)[ ]({BARE}{{8,}})"),
    (rf"(?i){PASS}(?:{QUOTE})?\s*[:=]", rf"(?i)\b(?:pass|passcode|pswd|psw|pw|mdp|psk)[ \t]*[:=][ \t]*({BARE}{{6,}})"),
    (rf"(?i)(?:salt|nonce|pepper|seed|iv|key)(?:{QUOTE})?\s*[:=]",
     rf"(?i)\b(?:salt|nonce|pepper|seed|iv|hmac_?key|aes_?key|secret_?key)(?:{QUOTE})?\s*(?:=>|=|:)\s*{OPEN}([^\s\"'\\]{{8,}}){QUOTE}"),
)  # fmt: skip
# Columns of a table and a row of values: the value of a column with a secret name is masked.
INSERTED = r"(?i)\binsert\s+into\s+\S+\s*\(([^()]+)\)\s*values\s*\(([^()\n]+)\)"
CLIENTS = "mongo|az|cf|oc|twine|argocd|influx|nexus|cqlsh|mosquitto_[a-z]+|clickhouse-client"
# Words, one of which is in the line, and the pattern.
COMMANDS = (
    ("sqlplus sqlldr impdp expdp imp exp oracle",
     r"(?i)\b(?:sqlplus|sqlldr|impdp|expdp|imp|exp|jdbc:oracle:thin:)\s*[A-Za-z0-9_.]+/([^\s@/\"'\\]{4,})@"),
    ("sqlcmd bcp osql zip unzip ipmitool",
     rf"\b(?:sqlcmd|bcp|osql|zip|unzip|ipmitool)\s[^\n]*?-P[ ]?(?:{QUOTE})?({WORD}{{4,}})"),
    ("ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd ldapcompare",
     rf"\bldap[a-z]+\s[^\n]*?-w[ ]?(?:{QUOTE})?({WORD}{{4,}})"),
    ("7z 7za 7zr", rf"\b7z[ar]?\s[^\n]*?\s-p(?:{QUOTE})?({WORD}{{4,}})"),
    ("openssl", rf"\bopenssl\s+enc\s[^\n]*?\s-k[ ](?:{QUOTE})?({WORD}{{4,}})"),
    ("useradd usermod adduser",
     rf"\b(?:useradd|usermod|adduser)\s[^\n]*?(?:-p|--password)[ ](?:{QUOTE})?({WORD}{{4,}})"),
    ("htpasswd", rf"\bhtpasswd\s+-[a-zA-Z]*n[a-zA-Z]*\s+\S+\s+(?:{QUOTE})?({WORD}{{4,}})"),
    ("htpasswd", rf"\bhtpasswd\s+-[a-zA-Z]*b[a-zA-Z]*\s+\S+\s+\S+\s+(?:{QUOTE})?({WORD}{{4,}})"),
    ("smbclient rpcclient smbmap net",
     rf"\b(?:smbclient|rpcclient|smbmap|net)\s[^\n]*?-U[ ]?(?:{QUOTE})?[^\s%\"']+%({WORD}{{4,}})"),
    ("net", rf"(?i)\bnet\s+use\s+\S+\s+\S+\s+(?:{QUOTE})?([^\s\"'/]{WORD}{{3,}})"),
    ("net", rf"(?i)\bnet\s+user\s+\S+\s+(?:{QUOTE})?([^\s\"'/]{WORD}{{3,}})"),
    ("lftp", rf"\blftp\s[^\n]*?-u[ ]?(?:{QUOTE})?[^\s,\"']+,({WORD}{{4,}})"),
    ("rabbitmqctl", rf"\brabbitmqctl\s+(?:add_user|change_password)\s+\S+\s+(?:{QUOTE})?({WORD}{{4,}})"),
    ("wpa_passphrase", rf"\bwpa_passphrase\s+\S+\s+(?:{QUOTE})?({WORD}{{8,}})"),
    ("sudo", rf"\becho\s+(?:-n\s+)?{QUOTE}?({WORD}{{4,}}?){QUOTE}?\s*\|\s*sudo\s+-S\b"),
    ("chpasswd",
     rf"\becho\s+(?:-[en]+\s+)?(?:{QUOTE})?[A-Za-z0-9_-]+:({WORD}{{4,}}?)(?:{QUOTE})?\s*\|\s*(?:sudo\s+)?chpasswd\b"),
    ("sshpass", rf"\bsshpass\s+-p(?:{QUOTE})?({WORD}{{4,}})"),
    ("mongo az cf oc twine argocd influx nexus cqlsh mosquitto_pub mosquitto_sub clickhouse",
     rf"\b(?:{CLIENTS})\s[^\n]*?\s-p[ ](?:{QUOTE})?({WORD}{{4,}})"),
    ("requirepass masterauth rootpw bindpw sasl_passwd",
     rf"(?im)^\s*(?:requirepass|masterauth|rootpw|bindpw|sasl_passwd)\s+(?:{QUOTE})?({WORD}{{4,}})"),
    ("enable username",
     rf"(?i)\b(?:enable|username\s+\S+(?:\s+privilege\s+[0-9]+)?)\s+(?:secret|password)\s+(?:[0-9]\s+)?({WORD}{{4,}})"),
    ("snmp", rf"(?i)\bsnmp-server\s+community\s+({WORD}{{4,}})"),
    ("isakmp tacacs radius",
     rf"(?i)\b(?:isakmp|tacacs-server|radius-server)\s+(?:\S+\s+){{0,3}}?key\s+(?:[0-9]\s+)?({WORD}{{4,}})"),
)  # fmt: skip
MYSQL = "mysql mysqldump mysqladmin mysqlimport mysqlcheck mysqlshow mysqlslap mysqlbinlog mysqlpump mysqlsh mariadb"
MONGO = "sshpass docker podman mongosh mongodump mongorestore mongoexport mongoimport"
WORDS = sorted({
    *(word for words, _ in COMMANDS for word in words.split() if word not in ("oracle", "username")),
    *MYSQL.split(), *MONGO.split(), "redis-cli", "http", "https", "keytool", "jarsigner", "snmp-server",
    "tacacs-server", "radius-server", "clickhouse-client", "mariadb-[a-z]+",
})  # fmt: skip
# Endings of LOGINS: all of those names in one automaton would make it slow to build.
CALLS = (
    r"(?:connect|connection|log_?in|sign_?in|auth|create_?user|superuser|mysqli|pdo|credentials?|authenticationtoken"
    r"|passwordauthentication|auth1?(?:handler|session)|client|algoliasearch|begin|authenticate)"
)
IN_PGPASS = r":(?:[0-9]{1,5}|\*):[A-Za-z0-9_.*-]+:[A-Za-z0-9_.*-]+:"
# A part of each pattern that is found quickly: only lines with one of these are searched further.
SIGNS = (
    rf"{CALLS}\(|\bauth\s*=\s*\(|{SECOND}\(|{FIRST}[( ]|{PASS}(?:{QUOTE})?\s*[:=]|{PASS}\s+(?:is|was|ist|war)\b"
    rf"|userpwd|\b(?:{'|'.join(WORDS)})\s|jdbc:oracle|\b(?:password|md5|sha[12]|crypt)\(|insert\s+into|{IN_PGPASS}"
    rf"|(?:salt|nonce|pepper|seed|\biv|key|_COM|_PAT)(?:{QUOTE})?\s*[:=]"
)
