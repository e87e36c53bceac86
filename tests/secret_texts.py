"""Texts with secrets and texts that only look so, put together at run time from a seeded generator.

A template holds secrets between « and », and other drawn parts between ‹ and ›;
in both, `{b40}` is drawn; `¦` is nothing, so that no file of this project
holds a token. Rules were made with `FIRST` in sight; `SECOND` (`secret_texts_second.py`)
was written before its results were looked at.
"""

import random
import re
import string
from typing import NamedTuple

LETTERS = string.ascii_letters + string.digits
ALPHABETS = {
    "": LETTERS,
    "u": LETTERS + "-_",
    "b": LETTERS + "+/",
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "A": string.ascii_uppercase + string.digits,
    "B": string.ascii_uppercase + "234567",
    "l": string.ascii_lowercase + string.digits,
    "z": string.ascii_lowercase,
    "a": string.ascii_letters,
    "d": string.digits,
}
ANIMALS = ("otter", "raven", "falcon", "badger", "lynx", "heron", "marmot", "cedar", "willow", "maple", "tundra")
MARKS = "!%*+#$&^@?"


class Text(NamedTuple):
    """A text with the secrets in it; `group` says what sort of text, `hard` that nobody expects all of these."""

    name: str
    group: str
    hard: bool
    text: str
    secrets: tuple[str, ...]


def drawn(alphabet: str, size: int, dice: random.Random) -> str:
    """Return random text that holds a digit, a capital and a small letter where the alphabet has them."""
    kinds = [kind for kind in (str.isdigit, str.isupper, str.islower) if any(map(kind, alphabet))]
    while True:
        text = "".join(dice.choice(alphabet) for _ in range(size))
        if size < 6 or all(any(map(kind, text)) for kind in kinds):
            return text


def part(code: str, dice: random.Random) -> str:
    """Return what `{code}` stands for."""
    if code == "pw":  # as people make them
        return dice.choice(ANIMALS).title() + dice.choice(MARKS) + dice.choice(ANIMALS) + str(dice.randint(10, 99))
    if code == "pws":  # safe inside an address and a shell
        return dice.choice(ANIMALS).title() + "-" + drawn(LETTERS, 8, dice)
    if code == "pwm":  # as they are made where a mark at the end is asked for
        return "".join(
            (
                dice.choice(ANIMALS).title(),
                dice.choice("#_-!.*"),
                dice.choice(ANIMALS),
                drawn("123456789", 2, dice),
                dice.choice("!#%*"),
                drawn(ALPHABETS["z"], 3, dice),
            )
        )
    if code == "pwl":  # letters alone, drawn
        return drawn(string.ascii_letters, dice.randint(11, 16), dice)
    if code == "pww":  # letters alone, of words
        return dice.choice(ANIMALS).title() + dice.choice(ANIMALS).title()
    if code == "wide":
        return "".join(chr(ord(letter) + 0xFEE0) for letter in drawn(LETTERS, 14, dice))
    if code == "uuid":
        return "-".join(drawn(ALPHABETS["h"], size, dice) for size in (8, 4, 4, 4, 12))
    if code.startswith("pem"):
        return "\n".join(drawn(ALPHABETS["b"], 64, dice) for _ in range(int(code[3:])))
    letter = code[0] if code[0].isalpha() else ""
    return drawn(ALPHABETS[letter], int(code[len(letter) :]), dice)


def rendered(name: str, group: str, template: str, seed: int) -> Text:
    """Return a template as a text."""
    dice = random.Random(f"{name}{seed}")
    secrets = []
    out = []
    for piece in re.split("(«[^»]*»|‹[^›]*›)", template.replace("¦", "")):
        if piece[:1] in ("«", "‹"):
            filled = re.sub(r"\{(\w+)\}", lambda found: part(found[1], dice), piece[1:-1])
            secrets += [filled] if piece[0] == "«" else []
            out.append(filled)
        else:
            out.append(piece)
    return Text(f"{name}-{seed}", group.lstrip("?"), group.startswith("?"), "".join(out), tuple(secrets))


def texts(templates: dict[str, tuple[str, ...]], seeds: int, title: str) -> list[Text]:
    """Return every template so many times; a group that begins with `?` is hard."""
    return [
        rendered(f"{title}-{group.lstrip('?')}-{at}", group, template, seed)
        for group, listed in templates.items()
        for at, template in enumerate(listed)
        for seed in range(seeds)
    ]


JUNK = re.compile("[\\s\"'\\\\+>|\u00ad\u200b-\u200f\u2060]+")


def windows(text: str, size: int = 8) -> set[str]:
    """Return every stretch of a text without what splits words; runs of one character are none."""
    flat = JUNK.sub("", re.sub("-----(?:BEGIN|END)[^-]*-----", " ", text).replace("\\n", ""))
    if len(flat) <= size:
        return {flat} if flat else set()
    return {flat[at : at + size] for at in range(len(flat) - size + 1) if len(set(flat[at : at + size])) > 1}


def is_leaked(one: Text, output: str) -> bool:
    """Tell whether eight characters of a secret are left in what a text became."""
    rest = one.text
    for secret in one.secrets:
        rest = rest.replace(secret, "\0")
    flat = JUNK.sub("", output.replace("\\n", ""))
    return any(piece in flat for secret in one.secrets for piece in windows(secret) - windows(rest))


FIRST: dict[str, tuple[str, ...]] = {
    "vendor": (
        "key id «A¦KIA{B16}» was used",
        "export GH=«gh¦p_{36}» && gh api",
        "gh¦s token «gh¦s_{36}» in the run log",
        "token «github¦_pat_{22}_{59}» never expires",
        "runner «gl¦rt-{u20}» registered",
        "pushed with «gl¦pat-{u20}», now revoked",
        "bot «xo¦xb-{d12}-{d12}-{24}» speaks",
        "app «xa¦pp-1-A{A9}-{d12}-{h64}» listens",
        "paid with «sk¦_live_{24}» today",
        "restricted «rk¦_live_{24}» key",
        "client('«sk¦-ant-api03-{u86}AA»')",
        "client = OpenAI(api_key='«sk¦-proj-{48}T3BlbkFJ{20}»')",
        "maps loads «AI¦za{u35}» fine",
        "pulling with «h¦f_{a34}» works",
        "np¦m publish: «np¦m_{36}»",
        "«py¦pi-AgEIcHlwaS5vcmc{u90}» uploaded",
        "mail «S¦G.{u22}.{u43}» sent",
        "twilio «S¦K{h32}» called",
        "mailgun «ke¦y-{h32}» ok",
        "list «{h32}-us12» synced",
        "bot «{d9}:AA{u33}» polled",
        "shop «shp¦at_{h32}» rejected the scope",
        "droplet made with «do¦p_v1_{h64}»",
        "linear «lin¦_api_{40}» query",
        "grafana «gl¦sa_{32}_{h8}» viewer",
        "dbx «da¦pi{h32}» cluster",
        "doppler «dp¦.pt.{43}» project",
        "docker «dc¦kr_pat_{u27}» pulled",
        "vault «hv¦s.{u90}» renewed",
        "tailscale «ts¦key-auth-{11}-{32}» joined",
        "pinecone «pc¦sk_{6}_{63}» upsert",
        "groq «gs¦k_{52}» chat",
        "nv «nv¦api-{u64}» infer",
        "notion «nt¦n_{46}» page",
        "sentry «sn¦trys_{b60}» upload",
        "supabase «sb¦p_{h40}» push",
        "perplexity «pp¦lx-{48}» ask",
        "postman «PM¦AK-{h24}-{h34}» run",
        "atlassian «ATA¦TT3xFfGF0{u170}={H8}» page",
        "new relic «NR¦AK-{A27}» query",
        "dynatrace «dt¦0c01.{A24}.{A64}» metric",
        "planetscale «ps¦cale_tkn_{43}» branch",
        "square «EA¦AA{u60}» charge",
        "age «AGE-SECRET¦-KEY-1{A58}»",
        "circle «CC¦IPAT_{22}_{h40}» build",
        "buildkite «bk¦ua_{h40}» agent",
        "langsmith «ls¦v2_pt_{h32}_{h10}» trace",
        "replicate «r8¦_{37}» predict",
        "rubygems «ruby¦gems_{h48}» push",
        "tavily «tv¦ly-{32}» search",
        "figma «fig¦d_{u40}» file",
        "sonar «sq¦p_{h40}» scan",
        "brevo «xk¦eysib-{h64}-{16}» campaign",
        "cloudflare «cf¦ut_{40}» dns",
        "oauth «ya¦29.{u120}» lives an hour",
        "client secret «GOC¦SPX-{u28}» rotated",
        "«ey¦J{u30}.ey¦J{u80}.{u43}» was sent",
        "hook https://hooks.slack.com/services/«T{A8}/B{A8}/{24}» rings",
        "hook https://discord.com/api/webhooks/«{d18}/{u68}» rings",
        "teams https://acme.webhook.office.com/webhookb2/«{uuid}@{uuid}/IncomingWebhook/{h32}/{uuid}» rings",
    ),
    "assigned": (
        "DB_PASSWORD=«{pw}»\nDB_HOST=db",
        "export PGPASSWORD='«{pw}»'",
        "AWS_SECRET_ACCESS_KEY=«{b40}»",
        "aws_session_token = «{b300}»\nregion = eu-1",
        "SECRET_KEY='«{u50}»'",
        "JWT_SECRET=«{48}»",
        "API_KEY: «{32}»",
        "token: «{h40}»",
        "access_token=«{h64}»",
        'client_secret = "«{u36}»"',
        '{"api_key": "«{40}»", "model": "x"}',
        '{\\"password\\": \\"«{pw}»\\"}',
        "password: «{pw}»\nuser: app",
        '  password: "«{pw}»"  # staging',
        "password = '«{pw}»' # toml",
        "[client]\nuser=root\npassword=«{pw}»",
        '<add key="ApiSecret" value="«{40}»"/>',
        "<password>«{pw}»</password>",
        "$env:API_TOKEN = '«{40}»'",
        'set "DB_PASS=«{pws}»"',
        "setx API_KEY «{40}»",
        "ENV DB_PASSWORD=«{pws}»",
        "ENV API_TOKEN «{40}»",
        "ARG NPM_TOKEN=«{36}»",
        "environment:\n  - MYSQL_ROOT_PASSWORD=«{pws}»",
        "environment:\n  MYSQL_PASSWORD: «{pws}»\n  TZ: UTC",
        "kind: Secret\nmetadata:\n  name: app\ndata:\n  api-token: «{b40}»\n  username: YWRtaW4=",
        "kind: Secret\nstringData:\n  password: «{pw}»",
        '- name: API_TOKEN\n  value: "«{40}»"',
        'const char *kApiKey = "«{40}»";',
        'val apiKey = "«{40}»"',
        'private static final String PASSWORD = "«{pws}»";',
        "config.secret_key_base = '«{h128}»'",
        "SECRET_KEY_BASE=«{h128}»",
        "HEROKU_API_KEY=«{uuid}»",
        "DD_API_KEY=«{h32}» DD_SITE=eu",
        "encryption_key: «{h64}»",
        'app.setSecret("«{40}»")',
        "credentials: {user: 'ci', password: '«{pw}»'}",
        "DATABASE_PASSWORD: !!str «{pw}»",
        'password="«{pw}\\"{6}»"',
        "spring.redis.password=«{pw}»",
        'terraform.tfvars: db_password = "«{pw}»"',
        "'secret' => '«{40}»',",
        "define('DB_PASSWORD', '«{pw}»');",
        'os.environ["OPENAI_API_KEY"] = "«{48}»"',
        "process.env.TOKEN = '«{40}»'",
        "signing-key: «{b44}»",
        "webhook_secret: «{h40}»",
        "MINIO_ROOT_PASSWORD=«{pws}»",
        "redis.conf: requirepass «{32}»",
        "masterauth «{32}»",
        "PSK = «{b43}=»",
        "PrivateKey = «{b43}=»",
        "wpa_passphrase=«{pws}»",
        "smtp_pass: «{l16}»",
        "AccountKey=«{b86}==»;EndpointSuffix=x",
        "SharedAccessKey=«{b43}=»",
        "INFLUX_TOKEN=«{u86}==»",
    ),
    "header": (
        "Authorization: Bearer «{u40}»",
        "authorization: basic «{b28}»",
        "-H 'Authorization: token «{h40}»'",
        '-H "PRIVATE-TOKEN: «{u20}»"',
        "X-Api-Key: «{40}»",
        "x-auth-token: «{h32}»",
        "Proxy-Authorization: Basic «{b32}»",
        "Cookie: sid=«{u32}»; theme=dark",
        "Set-Cookie: session=«{u64}»; Path=/; HttpOnly",
        "Set-Cookie: connect.sid=s%3A«{u32}.{b43}»; Path=/",
        "cookie: XSRF=1; JSESSIONID=«{H32}»",
        "{'Authorization': 'Bearer «{u40}»'}",
        'headers: { "X-Api-Key": "«{40}»" }',
        "Ocp-Apim-Subscription-Key: «{h32}»",
        "X-Vault-Token: «{u26}»",
        "Sec-WebSocket-Protocol: bearer, «{u40}»",
        "Authorization: ApiKey «{b60}==»",
        "grpc-metadata-macaroon: «{h120}»",
        "X-Hub-Signature key secret=«{40}»",
    ),
    "url": (
        "postgresql://app:«{pws}»@db:5432/shop",
        "postgres://app:«p%40{12}»@db.internal/app",
        "mysql+pymysql://root:«{pws}»@127.0.0.1/x",
        "mongodb+srv://u:«{pws}»@c0.mongodb.net/?retryWrites=true",
        "redis://:«{24}»@cache:6379/0",
        "rediss://default:«{24}»@cache.upstash.io:6379",
        "amqps://svc:«{pws}»@mq/vh",
        "ftp://deploy:«{12}»@ftp.acme.dev",
        "smtp://no-reply:«{l16}»@smtp.acme.dev:587",
        "ldap://cn=admin:«{pws}»@ldap.acme.dev",
        "git clone https://oauth2:«{u26}»@git.acme.dev/x.git",
        "git clone https://«{40}»@git.acme.dev/x.git",
        "https://user:«{pws}»@proxy.acme.dev:3128",
        "GET /v1/items?api_key=«{32}»&page=2",
        "GET /cb?access_token=«{u48}»&state=x",
        "wss://stream.acme.dev/?token=«{u48}»",
        "https://acme.blob.core.windows.net/c/b?sv=2024-01-01&se=2027-01-01&sr=b&sp=r&sig=«{b43}%3D»",
        "https://b.s3.amazonaws.com/k?X-Amz-Credential=A&X-Amz-Signature=«{h64}»&X-Amz-Expires=900",
        "https://storage.googleapis.com/b/k?GoogleAccessId=a@b&Expires=1&Signature=«{b86}%3D»",
        "otpauth://totp/acme:me?secret=«{B32}»&issuer=acme",
        "jdbc:postgresql://db/app?user=app&password=«{pws}»",
        "jdbc:oracle:thin:scott/«{pws}»@//db:1521/x",
        "jdbc:sqlserver://db:1433;user=sa;password=«{pw}»;encrypt=true",
        "Server=db;User Id=sa;Pwd=«{pw}»;",
        "host=db user=app password=«{pws}» dbname=x sslmode=require",
        "https://hooks.zapier.com/hooks/catch/«{d7}/{l32}»/",
        "https://maker.ifttt.com/trigger/x/with/key/«{u22}»",
        "https://user%40acme.dev:«{16}»@nexus.acme.dev/repo",
    ),
    "file": (
        "machine api.acme.dev login ci password «{20}»",
        "machine api.acme.dev\n  login ci\n  password «{20}»",
        "db.acme.dev:5432:shop:app:«{pws}»",
        "*:*:*:postgres:«{pws}»",
        "//registry.npmjs.org/:_authToken=«{uuid}»",
        "//registry.acme.dev/:_password=«{b28}»",
        "_auth=«{b32}»",
        "[pypi]\nusername = __token__\npassword = «{u80}»",
        '{"auths": {"r.acme.dev": {"auth": "«{b32}»"}}}',
        "users:\n- name: me\n  user:\n    client-key-data: LS0t«LS1CRUdJTiBSU0Eg{b90}»",
        "users:\n- user:\n    token: «{u60}»",
        "root:«$6¦${8}${86}»:19700:0:99999:7:::",
        "deploy:«$ap¦r1${8}${22}»",
        "admin: «$2¦y$10${b53}»",
        "[default]\naws_access_key_id = «A¦KIA{B16}»\naws_secret_access_key = «{b40}»",
        'user = "ci:«{pws}»"\nurl = "https://acme.dev"',
        (
            '{"type":"service_account","private_key":"-----BEGIN PRIVATE¦ KEY-----\\n'
            '«{b64}»\\n«{b64}»\\n-----END PRIVATE¦ KEY-----\\n"}'
        ),
        "<server><id>r</id><username>ci</username><password>«{pws}»</password></server>",
        "<secret>«{b60}=»</secret>",
    ),
    "command": (
        "curl -u admin:«{pws}» https://x",
        "curl --user 'ci:«{pw}»' https://x",
        "wget --password='«{pw}»' https://x",
        "mysql -u root -p«{pws}» shop",
        "mysqldump --password=«{pws}» shop",
        'psql "host=db password=«{pws}» user=x"',
        "PGPASSWORD=«{pws}» psql -h db",
        "docker login -u ci -p «{24}» r.acme.dev",
        "echo «{24}» | docker login --password-stdin r.acme.dev",
        "sshpass -p '«{pw}»' ssh root@x",
        "redis-cli -h c -a «{24}» ping",
        "mongosh -u root -p «{pws}»",
        "openssl enc -k «{pws}» -in a",
        "openssl rsa -passin pass:«{pws}» -in k",
        "kubectl create secret generic a --from-literal=password=«{24}»",
        "helm install x --set auth.password=«{pws}»",
        "az login --service-principal -u a -p «{u34}» --tenant t",
        "gcloud x --api-key «{40}» run",
        "tool --token=«{h40}» deploy",
        "vault login «hv¦s.{24}»",
        "net use Z: \\\\srv\\s /user:me «{pws}»",
        "ConvertTo-SecureString '«{pw}»' -AsPlainText -Force",
        "CREATE USER a IDENTIFIED BY '«{pw}»';",
        "ALTER USER a WITH PASSWORD '«{pw}»';",
        "htpasswd -b -c f user «{pws}»",
        "keytool -storepass «{pws}» -list",
        "snowsql -a acme --password «{pws}»",
        "smbclient //s/x -U me%«{pws}»",
        "xfreerdp /u:me /p:«{pws}» /v:host",
        "7z x -p«{pws}» a.7z",
    ),
    "?prose": (
        "the admin password is «{pw}» on staging",
        "the password is «{pwl}»",
        "The root password for the box is «{pww}».",
        "use the password «{pw}» for the demo tenant",
        "its password: «{pww}»",
        "Password for jenkins is '«{pww}»'",
        "login is admin / «{pw}» until SSO works",
        "log in as admin with «{pw}»",
        "the api key is «{32}»",
        "his token was «{h40}», revoke it",
        "Das Passwort lautet «{pw}», Benutzer admin",
        "Das Passwort ist «{pwl}»",
        "Kennwort für den Drucker: «{pww}»",
        "Zugangsdaten: admin / «{pw}»",
        "la contraseña es «{pw}» en pruebas",
        "La clave del wifi es «{pwl}»",
        "le mot de passe est «{pw}» (recette)",
        "mot de passe : «{pwl}»",
        "la password è «{pw}»",
        "a senha é «{pw}»",
        "o haslo: «{pw}»",
        "пароль от базы: «{pw}»",
        "пароль администратора «{pwl}»",
        "数据库密码是 «{pw}»，用户 root",
        "密码：«{pwl}»",
        "パスワードは「«{pwl}»」です",
        "パスワードは «{pw}» です",
        "비밀번호는 «{pw}» 입니다",
        "şifre: «{pw}»",
        "mật khẩu là «{pw}»",
        "wachtwoord is «{pw}»",
        "पासवर्ड «{pw}» है",
        "كلمة المرور هي «{pw}»",
        "lösenordet är «{pw}»",
        "recovery phrase: «able acid also apex arch army atom aunt axis baby back ball»",
        "密码是 «{wide}»",
        "パスワード：«{wide}»",
        "ＰＡＳＳＷＯＲＤ＝«{wide}»",
    ),
    "?split": (
        "token: «gh¦p_{20}\u200b{16}»",
        'key = "«sk¦_live_{12}" + "{12}»"',
        "key = '«sk¦_live_{12}' . '{12}»'",
        "TOKEN=«gh¦p_{20}\\\n{16}»",
        "the token «gh¦p_{20}\n{16}» was cut by the terminal",
        "the token «gl¦pat-{10}\n  {10}» was cut by the mail",
        "> key «sk¦-ant-api03-{40}\n> {46}»",
        "jwt: «ey¦J{30}\n{30}.ey¦J{60}\n{20}.{43}»",
        "Authorization: Bearer «{u40}\n {u30}»",
        'secret = ("«{20}"\n          "{20}»")',
        "AWS_SECRET_ACCESS_KEY=«{b20}\n{b20}»",
        "key id «A¦KIA{B8}\r\n{B8}» printed",
        "slack «xo¦xb-{d12}-{d12}-{12}\n{12}» cut",
        "«ｇｈｐ＿{wide}{wide}{wide}»",
    ),
    "?pem": (
        "-----BEGIN RSA PRIVATE¦ KEY-----\n«{pem3}»\n-----END RSA PRIVATE¦ KEY-----",
        "-----BEGIN RSA PRIVATE¦ KEY-----\r\n«{b64}»\r\n«{b64}»\r\n-----END RSA PRIVATE¦ KEY-----\r\n",
        "    -----BEGIN OPENSSH PRIVATE¦ KEY-----\n    «{b70}»\n    «{b70}»\n    -----END OPENSSH PRIVATE¦ KEY-----",
        "> -----BEGIN EC PRIVATE¦ KEY-----\n> «{b64}»\n> «{b40}==»\n> -----END EC PRIVATE¦ KEY-----",
        "> > -----BEGIN PRIVATE¦ KEY-----\n> > «{b64}»\n> > «{b64}»",
        'KEY="-----BEGIN PRIVATE¦ KEY-----\\n«{b64}»\\n«{b40}»\\n-----END PRIVATE¦ KEY-----\\n"',
        "-----BEGIN PRIVATE¦ KEY-----\n«{pem4}»\n…",
        "tls.key: |\n  -----BEGIN PRIVATE¦ KEY-----\n  «{b64}»\n  «{b64}»\n  -----END PRIVATE¦ KEY-----",
        (
            "-----BEGIN RSA PRIVATE¦ KEY-----\nProc-Type: 4,ENCRYPTED\n"
            "DEK-Info: AES-128-CBC,{H32}\n\n«{pem3}»\n-----END RSA PRIVATE¦ KEY-----"
        ),
        (
            "-----BEGIN PGP PRIVATE¦ KEY BLOCK-----\nVersion: GnuPG v2\n\n«{pem3}»\n=abcd\n"
            "-----END PGP PRIVATE¦ KEY BLOCK-----"
        ),
        "-----BEGIN PRIVATE¦ KEY----- «{b64} {b64} {b30}» -----END PRIVATE¦ KEY-----",
        "«{pem3}»\n-----END RSA PRIVATE¦ KEY-----",
        '{"d":"«{u43}»","kty":"OKP","x":"‹{u43}›"}',
    ),
}
"""What a rule maker looked at: secrets in the places where people and programs put them."""

FIRST_KEPT: dict[str, tuple[str, ...]] = {
    "digest": (
        "bisect says ‹{h40}› is bad",
        "Cherry-picked ‹{h9}› onto main",
        "sha256:‹{h64}› is the image",
        "integrity sha512-‹{b86}==›",
        "md5 ‹{h32}›  backup.gz",
        'content-hash = "‹{h64}›"',
        'etag: "‹{h32}›"',
        'if-none-match "‹{h40}›"',
        "request id ‹{uuid}› timed out",
        "trace_id=‹{h32}› span_id=‹{h16}›",
        "Root=1-‹{h8}›-‹{h24}›",
        "distributionSha256Sum=‹{h64}›",
        "primary key ‹{uuid}› was reused",
        "The continuation token for page 2 was ‹{uuid}›",
        "continuation_token: ‹{b44}›",
        "next_page_token=‹{u40}›",
        "cache_key='‹{h40}›'",
        "idempotency-key: ‹{uuid}›",
        "partition key ‹{uuid}› is hot",
        "commit ‹{h40}›\nAuthor: me",
        "tree ‹{h40}›\nparent ‹{h40}›",
        "prev_hash=‹{h64}› seq=4021",
        "tx 0x‹{h64}› confirmed",
        "contract 0x‹{h40}› deployed",
        "ulid 01‹{A24}› sorted",
        "fingerprint SHA256:‹{b43}›",
        "thumbprint ‹{H40}›",
        "x-request-id: ‹{uuid}›",
        "wheel https://files.example/‹{h2}›/‹{h60}›/x.whl",
        "layer ‹{h12}› cached",
        "bazel-out/‹{h56}›/file",
        "csrf token name is csrf_token",
        "sort_key = '‹{l20}›'",
        'yarn resolved "https://r/x.tgz#‹{h40}›"',
    ),
    "placeholder": (
        "DB_PASSWORD=<password>",
        "password: ${DB_PASSWORD}",
        "password: $DB_PASSWORD",
        "token: ${{ secrets.TOKEN }}",
        "password: '{{ vault_db_password }}'",
        "API_KEY=YOUR_API_KEY",
        "secret: ********",
        "password=xxxxxxxx",
        "POSTGRES_PASSWORD=changeme",
        "postgres://postgres:postgres@localhost/x",
        'token = "your-token-here"',
        "api_key=sk-...",
        "postgres://user:password@host:5432/db",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer <token>",
        "Authorization: Bearer {token}",
        "export TOKEN=$(cat token.txt)",
        "password: null",
        "password=None",
        "API_KEY=",
        'password: ""',
        "secret: [REDACTED]",
        "PASSWORD=%DB_PASS%",
        'url = f"postgres://{user}:{password}@{host}/db"',
        "token: @@TOKEN@@",
        "api_key: insert-your-key-here",
        "token=gh" + "p_" + "x" * 36,
        "key: sk-ant-api03-...",
        "curl -u user:password https://x",
        "curl -u $USER:$PASS https://x",
        "password: !vault |",
        "password: !Ref DbPassword",
        "AWS_SECRET_ACCESS_KEY=<redacted>",
        "secretKeyRef: {name: api, key: token}",
    ),
    "public": (
        "pk¦_live_‹{24}› is publishable",
        "pk¦_test_‹{24}› is too",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI‹{b43}› me@host",
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB‹{b200}›== ci",
        "-----BEGIN CERTIFICATE-----\n‹{pem3}›\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\n‹{pem2}›\n-----END PUBLIC KEY-----",
        "public key: ‹{b43}=›",
        "PublicKey = ‹{b43}=›",
        "arn:aws:iam::123456789012:role/x",
        "arn:aws:secretsmanager:eu-1:123456789012:secret:prod/db-‹{6}›",
        "account 123456789012",
        "op://Engineering/prod-db/password",
        "secret/data/prod/db#password",
        "vault kv get secret/prod/db",
        "DB_PASSWORD is in Doppler, config prd",
        "/run/secrets/tls.key is 0400",
        "~/.ssh/id_ed25519 is the key",
        "the secret is named prod/api/token",
        "keyring entry learning-ledger/api",
        "the key file is server.key.pem",
        '{"kty":"OKP","crv":"Ed25519","x":"‹{u43}›","use":"sig"}',
        '"private_key_id": "‹{h40}›"',
        "client_id=‹{uuid}› is public",
        "tenant ‹{uuid}› subscription ‹{uuid}›",
        "NEXT_PUBLIC_POSTHOG_KEY=ph¦c_‹{43}›",
        "https://‹{h32}›@o1.ingest.sentry.io/2",
    ),
    "code": (
        "password = os.environ['DB_PASSWORD']",
        "interface Login { password: string }",
        "token = response.json()['token']",
        "hmac.compare_digest(expected_token, supplied_token)",
        "hashlib.sha256(token.encode()).hexdigest()",
        "parser.add_argument('--api-key', default=os.getenv('API_KEY'))",
        "def login(user: str, password: str) -> Token:",
        "const token = await getToken(user)",
        "if password != confirm_password: raise",
        "self.token = token",
        "password_hash text NOT NULL",
        "SELECT password FROM users WHERE id = ?",
        "max_tokens=4096",
        "tokens: 875,553",
        "const { apiKey } = config;",
        "key={item.id}",
        "for key, value in pairs.items():",
        'secret := os.Getenv("SECRET")',
        'String password = request.getParameter("password");',
        "token.value.toLowerCase()",
        "password?: string;",
        "AKIA[0-9A-Z]{16} is the shape",
        "re.compile(r'ghp_[A-Za-z0-9]{36}')",
        '<input type="password" name="pw">',
        '<PasswordField label="Password" value={password} />',
        "passwordResetTokenExpiresInMinutes = 30",
        "docker run -p 8080:80 -u 1000:1000 nginx",
        "mkdir -p build/Release2 && ssh -p 2222 host",
        "PASSWORD_MIN_LENGTH = 12",
        "user.password = hash(password)",
        "credentials = Credentials(username, password)",
        "auth: AuthProvider,",
        "token_type=bearer",
        "grant_type=password",
        "type: password",
        "secretName: app-tls",
        "existingSecret: db-creds",
        "apiKey: config.get('apiKey')",
        "'password' => bcrypt($request->password)",
        "primary_key=True",
        "Renamed secret_key_base to app_secret",
        "key: 'Enter'",
        "access_key_id: str",
        "sessionid cookie is HttpOnly",
        'class="_button_1x9kq_12 _primary_kkkwh"',
        "M12 2C6.48 2 2 6.48 2 12s4.48 10 10 10",
        "#1a2b3c; #ff8800cc",
        "-----BEGIN RSA PRIVATE¦ KEY----- is what the hook greps for",
        "Authorization: Bearer is missing",
        "CredentialsProviderChainAuthenticationTokenFilterTest passes",
        "$LATEST",
        "web-6b8d9c7f5 scaled to 0",
    ),
    "prose": (
        "the password is wrong",
        "the password is stored in the vault",
        "the password is hashed with argon2id",
        "the password is case-sensitive",
        "password must have 12 characters",
        "the password was rotated yesterday",
        "the password is required",
        "The password is optional for guests.",
        "the password is not sent twice",
        "the password is base64-encoded before it is sent",
        "the token is valid for 3600 seconds",
        "the token is refreshed every 15 minutes",
        "the key is rotated quarterly",
        "token expired at 2026-05-01T10:00:00Z",
        "It's no secret that the key metric is latency",
        "Password reset emails are throttled to 5 per hour",
        "Rotate the npm token every 90 days",
        "the secret is mounted as a file",
        "a password manager is enough",
        "Das Passwort ist falsch",
        "Das Passwort muss 12 Zeichen haben",
        "Das Passwort ist abgelaufen",
        "Das Passwort liegt im Tresor",
        "la contraseña es incorrecta",
        "la contraseña es obligatoria",
        "la clave primaria es compuesta",
        "le mot de passe est expiré",
        "le mot de passe est obligatoire",
        "la password è scaduta",
        "a senha é inválida",
        "пароль неверный",
        "пароль хранится в Vault",
        "пароль обязателен",
        "密码长度至少12位",
        "密码是必填项",
        "密码是加密存储的",
        "密码用 bcrypt 加密",
        "パスワードは必須です",
        "パスワードは bcrypt で保存",
        "비밀번호는 필수입니다",
        "the password field is type=password",
        "passwords are hashed with argon2id, see OPS-1923",
        "the password is the same as on staging",
        "the login is broken since v2.3.1",
        "the password is longer than 8 characters",
        "the password is generated by Terraform",
        "the password is empty by default",
        "the password is a UUID",
    ),
}
"""What the same eyes looked at: texts that must come back as they were."""
